# SPDX-License-Identifier: Apache-2.0
"""What goes wrong."""

import contextlib
from collections.abc import Iterator


class PerigeeError(Exception):
    """A program of Perigee refused what it was asked for, or ended; its own sentence."""


class ConnectionEnded(PerigeeError):
    """The process at the other end of a connection has ended, or has closed it."""


@contextlib.contextmanager
def understanding(what: str) -> Iterator[None]:
    """PerigeeError where what a process wrote hasn't the form that is read here."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise PerigeeError(f"{what} isn't understood ({type(error).__name__}: {error}); this "
                           "package is for programs of its own version") from error

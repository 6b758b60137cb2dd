# SPDX-License-Identifier: Apache-2.0
"""What goes wrong."""


class PerigeeError(Exception):
    """A program of Perigee refused what it was asked for, or ended; its own sentence."""

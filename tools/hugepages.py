# SPDX-License-Identifier: Apache-2.0
"""Snabb's binary reserves hugepages as it needs them, and doesn't give them back."""
import contextlib
import pathlib

RESERVED = pathlib.Path("/proc/sys/vm/nr_hugepages")


@contextlib.contextmanager
def given_back():
    """Leave as many hugepages reserved as there were before."""
    before = RESERVED.read_text()
    try:
        yield
    finally:
        with contextlib.suppress(PermissionError):
            RESERVED.write_text(before)

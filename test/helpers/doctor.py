# SPDX-License-Identifier: Apache-2.0
"""What `perigee doctor` must say of a packet path."""

CLEAN = "\nThe packet path is clean.\n"


def assert_clean(result):
    """The doctor found nothing."""
    assert CLEAN in result.stdout, result.stdout + result.stderr
    assert result.returncode == 0

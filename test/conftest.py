# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the system tests."""

import pathlib
import tempfile

import pytest


@pytest.fixture
def scratch():
    """A directory for large files, removed at the end (pytest keeps tmp_path)."""
    with tempfile.TemporaryDirectory(prefix="perigee-test-") as directory:
        yield pathlib.Path(directory)

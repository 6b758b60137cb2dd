# SPDX-License-Identifier: Apache-2.0
"""Tests of FastClick's that go by the clock get more time (patience.txt): they are run from a
copy, in which that alone is changed."""

import pathlib

FILE = pathlib.Path(__file__).with_name("patience.txt")


def read():
    """{folder/name: (text, what stands in its place)}."""
    changes = {}
    for line in FILE.read_text().splitlines():
        if line and not line.startswith("#"):
            name, change = line.split(": ", 1)
            changes[name] = tuple(change.split(" -> "))
    return changes


def patient(path, folder, change):
    """The test to be run for that at `path`: a copy in the folder, if there is a change."""
    if not change:
        return path
    text = path.read_text()
    if change[0] not in text:
        raise SystemExit(f"{FILE}: {path} has no '{change[0]}': another FastClick?")
    copy = pathlib.Path(folder, path.name)
    copy.write_text(text.replace(*change))
    return copy

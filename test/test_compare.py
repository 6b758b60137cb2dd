# SPDX-License-Identifier: Apache-2.0
"""doc/compare.md: each cell says where it is from, or that nothing was found."""

import re

import pytest

from helpers.command import ROOT

PAGE = (ROOT / "doc/compare.md").read_text()
OTHERS = ["Snabb", "libmoon, MoonGen", "FastClick", "VPP", "grout", "TRex"]


def tables():
    """{heading of the first column's neighbour: rows}, each row a list of cells."""
    found = []
    for text in re.findall(r"(?:^\|.*\n)+", PAGE, re.M):
        rows = [[cell.strip() for cell in line.strip("|\n").split("|")]
                for line in text.splitlines()]
        found.append([rows[0], *rows[2:]])
    return found


@pytest.mark.parametrize("column", range(1, 7))
def test_each_cell_has_a_source(column):
    head, *rows = tables()[0]
    assert len(head) == 7 and len(rows) == 1 + len(OTHERS)
    for row in rows:
        assert "](" in row[column] or row[column].startswith("not found"), (row[0], head[column])


def test_each_project_does_something_better():
    _, *rows = tables()[1]
    assert [row[0].strip("*") for row in rows] == OTHERS
    assert all("](https://" in row[-1] for row in rows)


def test_files_of_repositories_are_named_with_their_commit():
    """What a branch has may be gone tomorrow (VPP's pages say "at their newest")."""
    links = re.findall(r"https://github.com/(\S+?)/(?:blob|tree)/(\w+)/", PAGE)
    assert len(links) > 30
    assert {owner for owner, commit in links
            if not re.fullmatch("[0-9a-f]{12}", commit)} == {"FDio/vpp"}

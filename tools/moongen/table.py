# SPDX-License-Identifier: Apache-2.0
"""The table of examples in doc/moongen.md, against what ran."""

import re

from runs import ROOT

PAGE = ROOT / "doc" / "moongen.md"
WHOLE = "runs"
PREFIXES = {"libmoon": "libmoon/examples/", "MoonGen": "moongen/examples/"}


def rows_of_page():
    """What doc/moongen.md says of each example."""
    rows = re.findall(r"^\| (libmoon|MoonGen) \| (\S+\.lua) \| (.+) \|$",
                      PAGE.read_text(), re.MULTILINE)
    return {PREFIXES[project] + name: what for project, name, what in rows}


def compare(folders, ran):
    """What is wrong with the table: sentences. `ran`: scripts whose checks passed, or
    can't be made here."""
    rows, there = rows_of_page(), set()
    for prefix, folder in zip(PREFIXES.values(), folders):
        there |= {prefix + str(path.relative_to(folder / "examples"))
                  for path in (folder / "examples").rglob("*.lua")}
    for path in sorted(there - set(rows)):
        yield f"{path} isn't in the table"
    for path in sorted(set(rows) - there):
        yield f"{path} isn't there"
    for path, what in rows.items():
        if (what == WHOLE) != (path in ran):
            yield f"{path}: the table says '{what}', but its check " + (
                "passed" if path in ran else "didn't pass")

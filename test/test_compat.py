# SPDX-License-Identifier: Apache-2.0
"""tools/compat, on a small tree laid out like a Snabb checkout; and the parts of pages
that tools write."""

import sys

import pytest

from helpers.command import ROOT, run

sys.path.insert(0, str(ROOT / "tools"))

import marked  # noqa: E402

SELFTEST = "module(..., package.seeall)\nfunction selftest () %s end\n"
FILES = {
    "core/app.lua": "",
    "apps/good.lua": SELFTEST % "print('fine')",
    "lib/bad.lua": SELFTEST % "error('what is | wrong')",
    "lib/slow.lua": SELFTEST % "while true do end",
    "lib/none.lua": "return {}",
    "lib/card.lua": SELFTEST % "print('no card'); main.exit(43)",
}


@pytest.fixture
def snabb(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_prints_a_table(snabb):
    result = run(ROOT / "tools/compat", snabb, "--seconds", 2, "--at-least", 1)
    assert result.returncode == 0, result.stderr
    assert result.stdout == """\
| module | result | reason |
|---|---|---|
| lib.bad | fail | src/lib/bad.lua:2: what is \\| wrong |
| lib.slow | fail | no end after 2 s |
| lib.card | skip | no card |
| apps.good | pass |  |

Of 4: 1 pass, 2 fail, 1 skipped.
"""


def test_fails_if_too_few_pass(snabb):
    result = run(ROOT / "tools/compat", snabb, "apps.good", "--at-least", 2)
    assert result.returncode == 1
    assert "Of 1: 1 pass" in result.stdout


def test_writes_what_fails_into_a_page_beside_snabbs_own_results(snabb):
    own = snabb / "src/snabb"
    own.write_text('#!/bin/sh\ncase "$3" in *good) exit 0;; esac\necho broken; exit 1\n')
    own.chmod(0o755)
    page = snabb / "page.md"
    page.write_text("Before.\n\n<!-- selftests: begin -->\nold\n<!-- selftests: end -->\n"
                    "\nAfter.\n")
    result = run(ROOT / "tools/compat", snabb, "apps.good", "lib.bad", "--page", page)
    assert result.returncode == 0, result.stderr
    assert page.read_text() == """\
Before.

<!-- selftests: begin -->
Of 2: 1 pass, 1 fail, 0 skipped. Snabb's own binary: of 2: 1 pass, 1 fail, 0 skipped.

| module | result | Snabb's own | reason |
|---|---|---|---|
| lib.bad | fail | fail | src/lib/bad.lua:2: what is \\| wrong |
<!-- selftests: end -->

After.
"""


def test_refuses_what_is_no_checkout(tmp_path):
    result = run(ROOT / "tools/compat", tmp_path)
    assert result.returncode == 1
    assert "it has no src/core/app.lua" in result.stderr


def test_a_part_must_be_there():
    with pytest.raises(ValueError, match="no part 'b'"):
        marked.replace("<!-- a: begin -->\n<!-- a: end -->", "b", "new")

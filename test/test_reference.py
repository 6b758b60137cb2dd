# SPDX-License-Identifier: Apache-2.0
"""The API reference: made of the comments of public functions, each of which has one."""

import json
import re
import shutil

import pytest

from helpers.command import PERIGEE, ROOT, check, perigee, run

MAKE = ROOT / "tools" / "reference" / "make.lua"


def test_each_public_function_has_a_comment(tmp_path):
    said = check(str(PERIGEE), "run", MAKE, tmp_path)
    assert int(re.match(r"(\d+) public functions", said)[1]) > 900
    page = (tmp_path / "core" / "link.lua").read_text()
    assert page.startswith("--- ") and "-- @module core.link\n" in page
    assert re.search(r"^--- .*\n(-- .*\n)*function M\.transmit\(l, p\) end$", page, re.M)


@pytest.mark.parametrize("text, said", [
    ("local M = {}\nfunction M.open() end\nreturn M\n", "open"),
    ("local M = {}\n-- Not for readers.\nfunction M.open() end\nreturn M\n", "open"),
    ("local M = {}\nM.shut = function () end\nreturn M\n", "shut"),
    ("local M = {}\n--- Opens.\nfunction M.open() end\nreturn M\n", None)])
def test_one_without_is_told(tmp_path, text, said):
    (tmp_path / "src" / "lib").mkdir(parents=True)
    (tmp_path / "src" / "lib" / "a.lua").write_text(text)
    result = perigee("run", MAKE, tmp_path / "out", tmp_path)
    if said is None:
        assert (result.returncode, result.stderr) == (0, "")
    else:
        assert result.returncode == 1
        assert re.match(rf"src/lib/a\.lua:\d: {said} has no comment\n", result.stderr)


def test_ldoc_makes_pages(tmp_path):
    if not shutil.which("ldoc"):
        pytest.skip("there is no ldoc here (lua-ldoc)")
    (tmp_path / "src" / "lib").mkdir(parents=True)
    shutil.copy(ROOT / "src" / "lib" / "quantity.lua", tmp_path / "src" / "lib")
    check(str(PERIGEE), "run", MAKE, tmp_path / "modules", tmp_path)
    shutil.copy(ROOT / "tools" / "reference" / "config.ld", tmp_path)
    result = run("ldoc", "-q", "-d", tmp_path / "out", "-c", "config.ld", "modules",
                 cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    pages = "".join(path.read_text() for path in (tmp_path / "out").rglob("*.html"))
    assert "lib.quantity" in pages and "duration (text)" in pages.replace("&nbsp;", " ")


@pytest.mark.fast
def test_editors_get_the_rooms_that_there_are():
    settings = json.loads((ROOT / ".luarc.json").read_text())
    for path in settings["runtime.path"]:
        assert (ROOT / path.replace("?.lua", ".")).is_dir()

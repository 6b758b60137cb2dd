# SPDX-License-Identifier: Apache-2.0
"""From the site's front page to a first app, as a stranger goes: the front page's first
command, and then the page that it names, its files and its commands in their order, by one
shell in a copy of the tree. Only what apt would install is there already."""

import pathlib
import re
import shutil

import pytest

from helpers.command import ROOT, run, tool

FRONT = (ROOT / "tools/site/front.txt").read_text()
NEXT = re.search(r"\*\*\[A first app of your own\]\((\S+)\)\*\*", FRONT)[1]
PAGE = (ROOT / NEXT).read_text()
# What a clone has, and what `make` has made of it: nothing is built twice.
LEFT_OUT = {ROOT / name for name in (
    ".git", "mine", "build/guest", "build/test", "build/site", "build/site.in", "build/demo",
    "build/deb", "build/bench", "build/reference")}


def commands(page):
    return re.findall(r"^    (\S.*)$", page, re.M)


def steps():
    """("file", name, text), ("command", line) and ("said", line, text), in their order."""
    pattern = (r"^```lua\n(?P<file>.*?)^```\n|^    (?P<command>\S[^\n]*)$|"
               r"^```\n(?P<said>.*?)^```\n")
    for found in re.finditer(pattern, PAGE, re.M | re.S):
        yield found.lastgroup, found[found.lastgroup]


@pytest.fixture
def checkout(tmp_path):
    copy = tmp_path / "perigee"
    shutil.copytree(ROOT, copy, symlinks=True, ignore=lambda folder, names: [
        name for name in names if pathlib.Path(folder) / name in LEFT_OUT])
    return copy


def test_the_front_page_has_two_commands_and_the_readmes_figures():
    assert commands(FRONT) == ["tools/make demo", "tools/make test"]
    assert commands(FRONT)[0] == commands(PAGE)[0]
    readme = (ROOT / "README.md").read_text()
    assert all(f"    {command}\n" in readme for command in commands(FRONT))
    assert "{figures}" in FRONT and not re.search(r"\d cycles|Mpps", FRONT)


def test_each_step_of_the_page(checkout):
    script, shown = ["set -e"], []
    for kind, text in steps():
        if kind == "file":
            name = re.match(r"-- (\S+)\n", text)[1]
            (checkout / name).parent.mkdir(exist_ok=True)
            (checkout / name).write_text(text)
        elif kind == "command":
            script += [f"echo '== {len(shown)}'", text]
            shown.append(text)
        else:
            shown[-1] = (shown[-1], text)
    result = run(tool("bash"), "-c", "\n".join(script), cwd=checkout, timeout=420)
    assert result.returncode == 0, result.stderr[-3000:]
    said = re.split(r"^== \d+\n", result.stdout, flags=re.M)[1:]
    assert len(said) == len(shown) >= 6
    outputs = [(step, text) for step, text in zip(shown, said) if isinstance(step, tuple)]
    assert len(outputs) == 1
    assert all(text.endswith(step[1]) for step, text in outputs)
    assert "1 success / 0 failures" in said[2]

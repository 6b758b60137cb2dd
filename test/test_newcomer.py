# SPDX-License-Identifier: Apache-2.0
"""CONTRIBUTING's four changes (an app, a protocol, a kind of port, a program), made in a
copy of the tree as the page says, touching no other file."""

import re
import shutil

import pytest

from helpers.command import PERIGEE, ROOT, TIMEOUT_S, run

PAGE = (ROOT / "CONTRIBUTING.md").read_text()
FILES = dict(re.findall(r"^```lua\n-- (src/\S+)\n(.*?)^```\n", PAGE, re.M | re.S))
COMMANDS = re.findall(r"^    \$ (.*)\n((?:    (?!\$ ).*\n)*)", PAGE, re.M)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    copy = tmp_path_factory.mktemp("tree")
    shutil.copy(PERIGEE, copy / "perigee")
    for folder in "src", "snabb", "test/lua":
        shutil.copytree(ROOT / folder, copy / folder)
    for name, text in FILES.items():
        file = copy / name
        assert not file.exists(), f"{name} is there already"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    return copy


def test_the_page_has_all_four():
    kinds = {name.split("/")[1] + "/" + name.split("/")[2] for name in FILES}
    assert kinds == {"apps/min_size", "lib/stack", "port/sink", "program/short"}
    assert len(COMMANDS) == 3


@pytest.mark.parametrize("command, said", COMMANDS, ids=lambda text: text[:20])
def test_command(tree, command, said):
    result = run("sh", "-c", f"PATH={tree}:$PATH; {command}", cwd=tree, timeout=TIMEOUT_S)
    assert result.stdout == re.sub(r"^    ", "", said, flags=re.M), result.stderr


def test_the_apps_spec_passes(tree):
    result = run(tree / "perigee", "test", "src/apps/min_size", cwd=tree)
    assert result.returncode == 0 and "1 success" in result.stdout, result.stdout

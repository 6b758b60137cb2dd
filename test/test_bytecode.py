# SPDX-License-Identifier: Apache-2.0
"""Modules that `make` has compiled are taken as long as their files don't change, by a host
beside a tree of its own."""

import os
import shutil
import time

import pytest

from helpers.command import PERIGEE, ROOT, check, run

OLD = 1_000_000_000  # a time of files: long ago


class Tree:
    def __init__(self, place):
        self.place = place
        (place / "src/lib").mkdir(parents=True)
        shutil.copy(PERIGEE, place / "perigee")
        self.write("src/command_line.lua",
                   'return {start = function () print(require("lib.what")); return 0 end}')
        self.write("src/lib/what.lua", 'return "one"')

    def write(self, name, text, time=OLD):
        (self.place / name).write_text(text)
        os.utime(self.place / name, (time, time))

    def compile(self, *root):
        check(PERIGEE, "run", ROOT / "tools/bytecode.lua", self.place, self.bytecode, *root)

    @property
    def bytecode(self):
        return self.place / "modules.bytecode"

    def says(self):
        result = run(self.place / "perigee")
        assert (result.returncode, result.stderr) == (0, "")
        return result.stdout


@pytest.fixture
def tree(tmp_path):
    place = tmp_path / "tree"
    return Tree(place)


def test_a_module_is_taken_while_its_file_stays(tree):
    assert tree.says() == "one\n"
    tree.compile()
    tree.write("src/lib/what.lua", 'return "two"')  # as long, and as old
    assert tree.says() == "one\n"
    tree.write("src/lib/what.lua", 'return "two"', OLD + 1)
    assert tree.says() == "two\n"
    tree.write("src/lib/what.lua", 'return "three"')
    assert tree.says() == "three\n"


def test_an_installed_module_was_written_just_now(tree):
    now = int(time.time())
    tree.write("src/lib/what.lua", 'return "new"', now)
    tree.compile(tree.place)
    tree.write("src/lib/what.lua", 'return "two"', now)
    assert tree.says() == "new\n"
    tree.write("src/lib/what.lua", 'return "two"', now + 60)  # somebody tries something
    assert tree.says() == "two\n"


def test_a_tree_that_was_moved_is_read_anew(tree):
    tree.compile("/somewhere/else")
    tree.write("src/lib/what.lua", 'return "two"')
    assert tree.says() == "two\n"


def test_what_comes_first_in_the_path_goes_first(tree, tmp_path):
    tree.compile()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/what.lua").write_text('return "other"')
    tree.write("src/command_line.lua", f'''package.path = "{tmp_path}/?.lua;" .. package.path
      return {{start = function () print(require("lib.what")); return 0 end}}''')
    assert tree.says() == "other\n"


def test_what_was_changed_just_now_is_left_out(tree):
    (tree.place / "src/lib/what.lua").write_text('return "new"')
    tree.compile()
    assert b"src/lib/what.lua" not in tree.bytecode.read_bytes()
    assert b"src/command_line.lua" in tree.bytecode.read_bytes()


def test_a_file_that_is_damaged_is_not_used(tree):
    tree.compile()
    whole = tree.bytecode.read_bytes()
    lines = whole.split(b"\n")
    tree.write("src/lib/what.lua", 'return "two"')
    for damaged in (b"", b"\n", whole[:-1], whole[:40], whole + b"x", b"x" + whole,
                    whole.replace(lines[3], b"99999999999999999999", 1),
                    whole.replace(lines[3], b"9", 1), whole.replace(lines[4], b"", 1),
                    whole.replace(b"LuaJIT", b"LuaJIX", 1)):
        tree.bytecode.write_bytes(damaged)
        assert tree.says() == "two\n", damaged[:60]
    tree.bytecode.write_bytes(whole)
    assert tree.says() == "one\n"


def test_errors_have_their_lines(tree):
    tree.write("src/lib/what.lua", '\n\nerror("here")')
    tree.compile()
    result = run(tree.place / "perigee")
    assert result.returncode == 1
    assert "src/lib/what.lua:3: here" in result.stderr

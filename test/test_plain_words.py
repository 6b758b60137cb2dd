# SPDX-License-Identifier: Apache-2.0
"""tools/plain_words.py, which `make lint` runs."""
import importlib.util
import pathlib
import subprocess
import sys

import pytest

TOOL = pathlib.Path(__file__).parent.parent / "tools/plain_words.py"
spec = importlib.util.spec_from_file_location("plain_words", TOOL)
plain_words = importlib.util.module_from_spec(spec)
spec.loader.exec_module(plain_words)

WORDS = plain_words.Words("""# a comment
word told -> said
word made anew -> rebuilt
phrase told so -> right
file old/ -> not read yet
""")


def found(text, name="x.lua", tmp_path=None, **kind):
    path = tmp_path / name
    path.write_text(text)
    return [(line, word) for line, word, _ in WORDS.found(plain_words.read(path, **kind))]


@pytest.mark.parametrize("name, text, lines", [
    ("x.lua", "-- It is told\nlocal told = 1\n", [1]),
    ("x.lua", "local x = 1\n-- It is told\n", []),
    ("x.lua", 'local a = "told"\nlocal b = "it was told"\n', [2]),
    ("x.lua", 'f("not \\"told\\" of it")\nf([[two\nlines told]])\n', [1, 3]),
    ("x.lua", "-- Code is made\n-- anew.\n", [1]),
    ("x.lua", "-- It is told so; untold\n", []),
    ("x.c", "/* One\n * told\n */\nint told; /* told */\n", [2]),
    ("x.c", 'f("a told %d");\nchar c = \'"\'; f("a told b");\n', [1, 2]),
    ("x.md", "# told\n\n    told\n\nA `told` [a](told.md)\n```\ntold\n```\ntold\n", [1, 9]),
])
def test_reads_what_users_read(name, text, lines, tmp_path):
    assert [line for line, _ in found(text, name, tmp_path)] == lines


def test_reads_all_comments_if_asked(tmp_path):
    assert found("local x = 1\n-- told\n", tmp_path=tmp_path, all_comments=True) == [
        (2, "told")]


def test_files_can_be_excused():
    assert WORDS.excused("old/x.lua") and not WORDS.excused("older/x.lua")


def test_refuses_a_line_that_it_cannot_read():
    with pytest.raises(ValueError, match="plain_words.txt:2: not 'word|phrase|file X -> Y'"):
        plain_words.Words("word a -> b\nwords c\n")


def test_a_word_fails_it(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("A graph, made anew.\n")
    run = subprocess.run([sys.executable, TOOL, page], capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stdout == f'''{page}:1: 'anew': write again; "made anew" is recompiled, rebuilt
'''
    page.write_text("A graph, rebuilt.\n")
    assert subprocess.run([sys.executable, TOOL, page]).returncode == 0

# SPDX-License-Identifier: Apache-2.0
"""`click-flatten` and `click -qo-`, called by those names."""

import subprocess

import pytest

from helpers.command import PERIGEE

ROUTER = """elementclass Hop { $color | input -> Paint($color) -> output }
define($n 7)
Idle -> Hop($n) -> { -> Discard };
"""

FLAT = """Idle@1 :: Idle;
Hop@2/Paint@1 :: Paint(7);
@3/Discard@1 :: Discard;

Idle@1 -> Hop@2/Paint@1
    -> @3/Discard@1;
"""

WITH_LINES = """define($n 7);

# 3 "r.click"
Idle@1 :: Idle;
# 1 "r.click"
Hop@2/Paint@1 :: Paint($n);
# 3 "r.click"
@3/Discard@1 :: Discard;
# 10 ""
Idle@1 -> Hop@2/Paint@1
    -> @3/Discard@1;
"""


@pytest.fixture
def run(tmp_path):
    """Runs a link to perigee in a folder with r.click."""
    (tmp_path / "r.click").write_text(ROUTER)

    def run(name, *args, stdin=""):
        link = tmp_path / name
        if not link.exists():
            link.symlink_to(PERIGEE)
        return subprocess.run([f"./{name}", *args], input=stdin, cwd=tmp_path, text=True,
                              capture_output=True, timeout=60, check=False)
    return run


@pytest.mark.fast
def test_it_flattens(run):
    result = run("click-flatten", "r.click")
    assert (result.stdout, result.stderr, result.returncode) == (WITH_LINES, "", 0)
    assert run("perigee", "click-flatten", "r.click").stdout == WITH_LINES
    flat = run("click", "-qo-", stdin=run("click-flatten", "-fr.click").stdout).stdout
    assert flat == FLAT


@pytest.mark.fast
def test_it_lists(run):
    assert run("click-flatten", "-c", "r.click").stdout == "Discard\nIdle\nPaint\n"
    assert run("click-flatten", "--names", "r.click").stdout == (
        "@3/Discard@1\nHop@2/Paint@1\nIdle@1\n")
    assert run("click-flatten", "-d", "-e", "a :: B(c)").stdout == "a :: B\n"


@pytest.mark.fast
def test_variables_come_from_the_command_line(run, tmp_path):
    result = run("click-flatten", "--expand-vars", "n=8", "r.click", "-o", "out")
    assert (result.stdout, result.returncode) == ("", 0)
    assert "Paint(8)" in (tmp_path / "out").read_text()
    assert "Paint(9)" in run("click", "n=9", "-qo-", "r.click").stdout


@pytest.mark.fast
@pytest.mark.parametrize("args, error", [
    (["-e", "a -> ;\nb :: ;"], "config:1: syntax error near ';'\n"
     "config:2: missing element type in declaration\n"),
    (["none.click"], "none.click: No such file or directory\n"),
    (["-o", "no/where", "-e", "A"], "no/where: No such file or directory\n"),
    (["-o", "/dev/full", "-e", "A"], "/dev/full: No space left on device\n"),
    (["-z"], "click-flatten: unrecognized option '-z'\n"
     "Usage: click-flatten [OPTION]... [VAR=VALUE]... [FILE]\n"
     "Try 'click-flatten --help' for more information.\n"),
])
def test_it_says_what_is_wrong(run, args, error):
    result = run("click-flatten", *args)
    assert (result.stdout, result.stderr, result.returncode) == ("", error, 1)

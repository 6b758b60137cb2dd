# SPDX-License-Identifier: Apache-2.0
"""What runs the tests: tools/make, tools/test and .ci/run."""

import os
import re
import shutil
import signal
import sys
import time

import pytest

from helpers.command import PERIGEE, ROOT, check, run, running, wait_until


@pytest.mark.fast
def test_tools_make_is_make(tmp_path):
    result = run(ROOT / "tools/make", "help", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout == check("make", "-s", "-C", ROOT, "help")
    assert {"demo", "test", "check", "bench", "compat", "clicktests", "clickelements",
            "moongentests", "moongensoak", "guest", "manual", "docs", "site", "deb", "version",
            "release", "lint",            "install", "uninstall", "clean"} == \
        set(re.findall(r"^make (\w+)", result.stdout, re.MULTILINE))


# Makefile ----------------------------------------------------------------------


@pytest.mark.fast
def test_the_lines_that_are_mutated_are_there():
    assert len(check(ROOT / "tools/mutate", "--list").splitlines()) >= 40


def test_a_source_file_that_has_gone_is_linked_no_more(tmp_path):
    """By the part of the Makefile that says when `perigee` is linked."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    native = tmp_path / "src/native/all"
    native.mkdir(parents=True)
    for name in "one.c", "two.c":
        (native / name).write_text("int x;\n")

    def listed():
        check("make", "-C", tmp_path, "build/objects")
        return (tmp_path / "build/objects").read_text().split()
    assert listed() == [f"build/src/native/all/{name}.o" for name in ("one", "two")]
    before = (tmp_path / "build/objects").stat().st_mtime_ns
    assert len(listed()) == 2 and (tmp_path / "build/objects").stat().st_mtime_ns == before
    (native / "two.c").unlink()
    assert listed() == ["build/src/native/all/one.o"]
    assert " build/objects\n" in check("sed", "-n", "/^$(PROGRAM):/p", ROOT / "Makefile") \
        .replace("$(BUILD)", "build")


def test_a_header_concerns_the_files_that_include_it(tmp_path):
    native = tmp_path / "src/native/all"
    native.mkdir(parents=True)
    for name, text in {"api.h": "int api(void);", "gone.h": "int gone(void);",
                       "own.h": '#include "../all/api.h"', "one.c": '#include "api.h"',
                       "two.c": '#include "own.h"',
                       "three.c": '#include "gone.h"'}.items():
        (native / name).write_text(text + "\n")
    shutil.copy(ROOT / "Makefile", tmp_path)
    objects = [f"build/src/native/all/{name}.o" for name in ["one", "two", "three"]]

    now = time.time()

    def made():
        output = check("make", "-C", tmp_path, *objects)
        return re.findall(r"-o build/src/native/all/(\S+)\.o", output)

    def age():
        for path in tmp_path.rglob("*"):
            os.utime(path, (now - 2000 + path.match("*.o"),) * 2)

    assert made() == ["one", "two", "three"]
    age()
    assert made() == []
    (native / "api.h").touch()
    assert made() == ["one", "two"]
    age()
    (native / "gone.h").unlink()
    (native / "three.c").write_text("int no_header;\n")
    assert made() == ["three"]


# tools/test --------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path):
    """A tree with tools/test, two spec files and one file of system tests, which print
    what looks like a summary. Its perigee runs ours on its own specs."""
    for name, text in {
            "Makefile": "perigee:\n",
            ".luacheckrc": 'ignore = {"."}\n',
            "perigee": f"#!/bin/sh\ncase $* in *.lua) ;; *) set -- \"$@\" specs ;; esac\n"
                       f"exec '{PERIGEE}' \"$@\"\n",
            "specs/a_spec.lua": """
                it("fails", function ()
                  error("\\n7 successes / 5 failures / 0 errors / 0 pending : 1 seconds")
                end)
                it("isn't fast #slow", function () assert.equal(1, 1) end)""",
            "specs/b_spec.lua": """
                it("succeeds", function () assert.equal(1, 1) end)
                pending("is missing")""",
            "test/conftest.py": """
def pytest_configure(config):
    config.addinivalue_line("markers", "fast: so it is")
""",
            "test/test_it.py": """
import pytest
SUMMARY = "\\n=== 9 failed, 8 passed in 1.0s ===\\n<testsuite tests=\\"3\\""
@pytest.mark.fast
def test_that_fails(): raise ValueError(SUMMARY)
@pytest.mark.fast
def test_that_succeeds(): print(SUMMARY)
def test_that_takes_long(): pass
"""}.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (tmp_path / "perigee").chmod(0o755)
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools/test", tmp_path / "tools")
    shutil.copytree(ROOT / "tools/testrun", tmp_path / "tools/testrun")
    return tmp_path


def outcome(checkout, *options, **environment):
    """What tools/test says of a tree, and its last two lines; it must fail."""
    result = run(checkout / "tools/test", *options, timeout=600,
                 env={**os.environ, "HUGEPAGES": "0", **environment})
    assert result.returncode == 1, result.stdout + result.stderr
    return result.stdout, result.stdout.splitlines()[-2:]


@pytest.mark.parametrize("options, sum_", [
    ([], "4 passed, 2 failed, 1 skipped"), (["--fast"], "2 passed, 2 failed, 1 skipped")])
def test_the_tests_are_counted_whatever_they_print(checkout, options, sum_):
    said, last = outcome(checkout, *options)
    assert last == ["0 flaky, 0 not run", sum_], said
    for part in "luacheck", "specs.1", "specs.2", "system", "specs.again", "system.again":
        assert re.search(rf"^{part} +\d+\.\d s, CPU +\d+\.\d s$", said, re.M), said
    for file in "specs/a_spec.lua", "test/test_it.py":
        assert re.search(rf"^ +\d+\.\d s, CPU +\d+\.\d s  {file}$", said, re.M), said


@pytest.mark.parametrize("what, failed", [("tell", 1), ("fail", 3)])
def test_what_passes_alone_is_flaky(checkout, what, failed):
    (checkout / "test/test_it.py").write_text("""
import pathlib
def test_that_fails_once():
    first = pathlib.Path("been")
    assert first.exists() or first.touch()
""")
    (checkout / "specs/a_spec.lua").write_text("""
it("fails once", function ()
  local file = io.open("there")
  if not file then io.open("there", "w"):close() end
  assert.is_truthy(file)
end)""")
    (checkout / "test/test_more.py").write_text("def test_that_fails(): raise ValueError")
    said, last = outcome(checkout, FLAKY=what)
    assert last == ["2 flaky, 0 not run", f"1 passed, {failed} failed, 1 skipped"], said
    assert "\nflaky: specs/a_spec.lua: fails once failed, and passed alone\n" in said
    assert "\nflaky: test/test_it.py::test_that_fails_once failed, and passed alone\n" in said


def test_what_fails_alone_too_is_not_flaky(checkout):
    said, last = outcome(checkout)
    assert last[0] == "0 flaky, 0 not run"
    assert "flaky:" not in said
    for name in "specs/a_spec.lua: fails", "test/test_it.py::test_that_fails":
        assert f"\n{name}\n" in said[said.index("== what failed"):]


def test_a_file_with_a_long_path_is_run_once_more(checkout):
    """busted shortens paths of more than 57 characters in what it prints."""
    folder = checkout / "specs" / "a_folder_with_a_long_name" / "and_another_one_within"
    folder.mkdir(parents=True)
    (checkout / "specs/a_spec.lua").rename(folder / "whose_path_is_long_spec.lua")
    (checkout / "specs/long_spec.lua").write_text("it('is', function () assert(1) end)")
    said, last = outcome(checkout)
    path = (folder / "whose_path_is_long_spec.lua").relative_to(checkout)
    assert f"\n== once more: {path}\n" in said
    assert last == ["0 flaky, 0 not run", "5 passed, 2 failed, 1 skipped"], said


def test_a_process_of_specs_that_dies_is_a_failure(checkout):
    (checkout / "specs/b_spec.lua").write_text("os.execute('kill -9 $PPID')")
    for name in "cd":  # which the other process runs
        (checkout / f"specs/{name}_spec.lua").write_text(
            "it('is', function () assert(1) end)")
    said, last = outcome(checkout)
    assert re.search(r"^the specs \(process \d\) were ended by SIGKILL$", said, re.M), said
    assert re.search(r"\nnot run: 1 of \d files of the specs \(process \d\); at work: "
                     r"specs/b_spec.lua\n", said), said
    assert last == ["0 flaky, 1 not run", "5 passed, 3 failed, 0 skipped"], said


def test_system_tests_that_die_are_a_failure(checkout):
    """One process of theirs, or all."""
    (checkout / "test/test_it.py").write_text("""
import os
def test_it(): pass
def test_that_dies(): os._exit(3)
def test_after_it(): pass
""")
    said, last = outcome(checkout)
    assert "\ntest/test_it.py::test_that_dies\n" in said
    assert last == ["0 flaky, 0 not run", "4 passed, 2 failed, 1 skipped"], said
    (checkout / "test/test_it.py").write_text("""
import os, pathlib, signal, time
def test_that_kills():
    records = pathlib.Path("build/test/system.outcomes")
    while '"begin"' not in records.read_text():  # pytest writes that this test begins
        time.sleep(0.01)
    os.kill(os.getppid(), signal.SIGKILL)
    signal.pause()
""")
    said, last = outcome(checkout)
    assert "\nthe system tests were ended by SIGKILL\n" in said
    assert "\nnot run: 1 of 1 tests of the system tests; at work: " \
        "test/test_it.py::test_that_kills\n" in said
    assert last == ["0 flaky, 1 not run", "2 passed, 2 failed, 1 skipped"], said


HANGS = "import subprocess\ndef test_that_hangs(): subprocess.run(['sleep', '7654321'])\n"


@pytest.mark.parametrize("limit", ["SPECS_SECONDS", "ALL_SECONDS"])
def test_specs_that_hang_are_cut_off(checkout, limit):
    (checkout / "specs/b_spec.lua").write_text("""
        it("hangs", function () require("posix.unistd").sleep(7654321) end)""")
    for name in "cd":  # which the other process runs
        (checkout / f"specs/{name}_spec.lua").write_text(
            "it('is', function () assert(1) end)")
    said, last = outcome(checkout, **{limit: "8"})
    assert re.search(r"^the specs \(process \d\) were cut off after \d+ s$", said, re.M), said
    assert re.search(r"\nnot run: 1 of \d files of the specs \(process \d\); at work: "
                     r"specs/b_spec.lua\n", said), said
    if limit == "SPECS_SECONDS":
        assert last == ["0 flaky, 1 not run", "5 passed, 3 failed, 0 skipped"], said
    else:
        assert "\nnot run: all of the system tests\n" in said
        assert last[0] == "0 flaky, 2 not run", said


def test_system_tests_that_hang_are_cut_off(checkout):
    """And what they have started ends with them."""
    (checkout / "test/test_it.py").write_text(HANGS + "def test_after_it(): pass\n")
    said, last = outcome(checkout, ALL_SECONDS="12")
    assert re.search(r"^the system tests were cut off after \d+ s$", said, re.M), said
    assert "\nnot run: 2 of 2 tests of the system tests; at work: " \
        "test/test_it.py::test_that_hangs\n" in said
    assert last == ["0 flaky, 2 not run", "2 passed, 2 failed, 1 skipped"], said
    assert run("pgrep", "-f", "^sleep 7654321").stdout == ""


def test_tools_test_that_is_stopped_leaves_nothing(checkout):
    (checkout / "test/test_it.py").write_text(HANGS.replace("21", "22"))
    with running(checkout / "tools/test", env={**os.environ, "HUGEPAGES": "0"}) as process:
        wait_until(lambda: process.read() and run("pgrep", "-f", "^sleep 7654322").stdout,
                   "the system tests", timeout=600)
        process.send(signal.SIGTERM)
        assert process.finish(timeout=600) == 143
    assert run("pgrep", "-f", "^sleep 7654322").stdout == ""


def test_a_tree_that_cannot_be_built_is_not_run(checkout):
    (checkout / "Makefile").write_text("perigee: FORCE\n\tfalse\nFORCE:\n")
    said, last = outcome(checkout)
    assert "\nPerigee can't be built\n" in said
    assert last == ["0 flaky, 3 not run", "0 passed, 1 failed, 0 skipped"], said


@pytest.mark.fast
def test_limits_grow_while_others_have_the_cpus():
    """By simulated readings: all ticks of the CPUs, idle ones, and ours; ten seconds."""
    sys.path.insert(0, str(ROOT / "tools/testrun"))
    import clock
    sys.path.pop(0)

    def told(idle, ours):
        times, readings = iter([0, 10]), iter([(0, 0, 0), (2000, idle, ours)])
        return clock.Clock(lambda: next(readings), lambda: next(times)).tell()

    assert told(2000, 0) == told(0, 2000) == told(700, 1300) == 10
    assert told(0, 1000) == told(500, 500) == 5
    assert told(0, 500) == told(0, 0) == 10 / 2.5 # what hangs ends, too
    assert clock.Clock(lambda: None, iter([0, 10]).__next__).tell() == 10


@pytest.mark.parametrize("name, text", [("ALL_SECONDS", "0"), ("SPECS_SECONDS", "soon"),
                                        ("HUGEPAGES", "-1")])
def test_a_limit_that_is_none_is_refused(name, text):
    result = run(ROOT / "tools/test", env={**os.environ, name: text})
    assert result.returncode == 2
    least = 0 if name == "HUGEPAGES" else 1
    assert result.stderr == \
        f"tools/test: {name}={text}: it is a whole number, at least {least}\n"


def test_a_word_about_flaky_tests_that_is_none_is_refused():
    result = run(ROOT / "tools/test", env={**os.environ, "FLAKY": "maybe"})
    assert result.returncode == 2
    assert result.stderr == "tools/test: FLAKY=maybe: it is tell or fail\n"


def test_an_option_that_there_is_not_is_refused():
    result = run(ROOT / "tools/test", "--slow")
    assert result.returncode == 2
    assert result.stderr == "tools/test: '--slow': the only argument there is is --fast\n"


# .ci/run -----------------------------------------------------------------------


@pytest.mark.fast
def test_continuous_integration_runs_the_readmes_command():
    readme = (ROOT / "README.md").read_text()
    commands = re.findall(r"^    (tools/make \w+)$", readme, re.MULTILINE)
    assert commands == ["tools/make demo", "tools/make test"]
    assert commands[1] in (ROOT / ".ci/run").read_text()
    assert os.access(ROOT / ".ci/run", os.X_OK)

# SPDX-License-Identifier: Apache-2.0
"""What runs the tests: tools/make, tools/test and .ci/run."""

import os
import re
import shutil
import time

import pytest

from helpers.command import PERIGEE, ROOT, check, run


@pytest.mark.fast
def test_tools_make_is_make(tmp_path):
    result = run(ROOT / "tools/make", "help", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout == check("make", "-s", "-C", ROOT, "help")
    assert {"demo", "test", "check", "bench", "compat", "clicktests", "clickelements",
            "moongentests", "moongensoak", "guest", "manual", "docs", "deb", "lint",
            "install", "uninstall", "clean"} == \
        set(re.findall(r"^make (\w+)", result.stdout, re.MULTILINE))


# Makefile ----------------------------------------------------------------------


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
            "perigee": f"#!/bin/sh\nexec '{PERIGEE}' \"$@\" specs\n",
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
    return tmp_path


@pytest.mark.parametrize("options, sum_", [
    ([], "4 passed, 2 failed, 1 skipped"), (["--fast"], "2 passed, 2 failed, 1 skipped")])
def test_the_tests_are_counted_whatever_they_print(checkout, options, sum_):
    result = run(checkout / "tools/test", *options,
                 env={**os.environ, "HUGEPAGES": "0", "PYTHON": "/usr/bin/python3"})
    assert result.returncode == 1
    assert result.stdout.splitlines()[-1] == sum_, result.stdout


def test_what_passes_alone_is_counted_apart(checkout):
    (checkout / "test/test_it.py").write_text("""
import pathlib
def test_that_fails(): assert False
def test_that_fails_once():
    first = pathlib.Path("been")
    assert first.exists() or first.touch()
""")
    result = run(checkout / "tools/test", env={**os.environ, "HUGEPAGES": "0",
                                               "PYTHON": "/usr/bin/python3"})
    assert result.returncode == 1
    assert "\n1 of these failed at first and passed alone:\n" in result.stdout
    assert result.stdout.splitlines()[-1] == "3 passed, 2 failed, 1 skipped"


def test_a_half_that_dies_is_a_failure(checkout):
    (checkout / "specs/b_spec.lua").write_text("os.execute('kill -9 $PPID')")
    result = run(checkout / "tools/test", env={**os.environ, "HUGEPAGES": "0"})
    assert result.returncode == 1
    assert "the specs (half 2) ended early, with exit status 137" in result.stdout


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

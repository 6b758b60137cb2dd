# SPDX-License-Identifier: Apache-2.0
"""The command line: programs and their help, options, user's trees, and the shell."""

import re

import pytest

from helpers.command import ROOT, perigee

PROGRAMS = ["capture", "doctor", "echo", "packetblaster", "plan", "ports", "replay",
            "run", "snsh", "test"]


def ok(*args, **kwargs):
    """Standard output of a run that must succeed without a message."""
    result = perigee(*args, **kwargs)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


# Help ---------------------------------------------------------------------------


@pytest.mark.parametrize("args", [[], ["-h"], ["--help"]])
def test_the_programs_are_listed_with_a_line_each(args):
    said = ok(*args)
    assert said.startswith("Usage: perigee [OPTIONS] PROGRAM [ARGUMENTS]\n")
    assert not re.search(r'^  -.*\]"\w', said.split("Programs:\n")[0], re.MULTILINE)
    listed = dict(re.findall(r"^  (\w+)\s{2,}(\S.*)$", said.split("Programs:\n")[1],
                             re.MULTILINE))
    assert sorted(listed) == list(listed)
    assert set(PROGRAMS) <= set(listed)
    in_tree = {path.stem for tree in ("src", "snabb", "click", "moongen")
               for pattern in ("*/*.lua", "*.lua")
               for path in (ROOT / tree / "program").glob(pattern)
               if path.parent.name in (path.stem, "program")}
    assert set(listed) == in_tree


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_program_has_help(program):
    for option in "--help", "-h":
        said = ok(program, option)
        assert re.match(f"Usage: perigee {program}", said)


def test_version():
    version, = re.fullmatch(r"perigee (\S+) \(DPDK 2\d\.\d\d\S*, LuaJIT 2\.1\S*\)\n"
                            r"known faults of this DPDK: .+\n"
                            r"known faults of this LuaJIT: .+\n",
                            ok("--version")).groups()
    assert version == re.search(r"^VERSION := (\S+)$", (ROOT / "Makefile").read_text(),
                                re.MULTILINE)[1]


# Trees --------------------------------------------------------------------------


def program(tree, name, body):
    directory = tree / "program" / name
    directory.mkdir(parents=True)
    (directory / f"{name}.lua").write_text(
        f"module(..., package.seeall)\nfunction run(parameters)\n{body}\nend\n")


def test_trees_are_searched_the_last_first(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    program(one, "hello", 'print("one", unpack(parameters))')
    program(one, "only_here", 'print("only", unpack(parameters))')
    program(two, "hello", 'print("two", unpack(parameters))')
    program(two, "echo", 'print("not the echo you know")')

    def with_two(*args, **kwargs):
        """It is told which modules of the tree are in the place of Perigee's."""
        result = perigee(*args, **kwargs)
        assert result.returncode == 0
        assert result.stderr.endswith("are used, not Perigee's: program.echo.echo\n")
        return result.stdout

    assert ok("-p", one, "hello", "a", "--b") == "one\ta\t--b\n"
    assert with_two("-p", one, "-p", two, "hello") == "two\n"
    assert with_two("-p", one, "-p", two, "only-here", "-p") == "only\t-p\n"
    assert with_two("-p", two, "echo", "null") == "not the echo you know\n"
    assert with_two("-p", "two", "hello", cwd=tmp_path) == "two\n"
    listed = ok("-p", one)
    assert "  hello " in listed and "  echo " in listed


def test_a_tree_brings_its_own_modules(tmp_path):
    (tmp_path / "apps" / "mine").mkdir(parents=True)
    (tmp_path / "apps" / "mine" / "mine.lua").write_text('return "mine"')
    program(tmp_path, "hello", 'print(require("apps.mine.mine"))')
    assert ok("-p", tmp_path, "hello") == "mine\n"


def test_a_program_that_is_not_right(tmp_path):
    program(tmp_path, "wrong", "this is not Lua")
    program(tmp_path, "without", "end function walk()")
    (tmp_path / "program/without/without.lua").write_text("return {}")
    result = perigee("-p", tmp_path, "wrong")
    assert result.returncode == 1 and "wrong.lua:3:" in result.stderr
    result = perigee("-p", tmp_path, "without")
    assert result.returncode == 2
    assert result.stderr == "perigee: program/without/without.lua has no run() function\n"


# Scripts ------------------------------------------------------------------------


def test_run_gives_a_script_its_arguments(tmp_path):
    script = tmp_path / "script.lua"
    script.write_text("print(arg[0], arg[1], #arg, main.parameters[2], ...)\n"
                      "return {run = function(args) print(unpack(args)) end}")
    assert ok("run", script, "a", "-b") == f"{script}\ta\t2\t-b\ta\t-b\na\t-b\n"


def test_random_numbers_differ_unless_seeded(tmp_path):
    code = "print(math.random(2^30), require('core.lib').random_bytes(4)[0])"
    assert len({ok("snsh", "-e", code) for _ in range(3)}) == 3
    seeded = [perigee("snsh", "-e", code, env={"SNABB_RANDOM_SEED": "5"})
              for _ in range(2)]
    assert seeded[0].stdout == seeded[1].stdout
    assert "seed 5" in seeded[0].stderr


@pytest.mark.parametrize("code, status", [
    ("main.exit(7)", 7), ("main.exit()", 0), ("os.exit(3)", 3),
    ("error('wrong')", 1), ("require('core.failure').usage('so not')", 2)])
def test_exit_status(code, status):
    result = perigee("snsh", "-e", code)
    assert result.returncode == status
    assert ("traceback" in result.stderr) == (code == "error('wrong')")


# snsh ---------------------------------------------------------------------------


def test_snsh_evaluates():
    assert ok("snsh", "-e", "print(1)") == "1\n"
    assert ok("snsh", "-e", "x = 6", "-e", "print(x * 7)") == "42\n"
    assert ok("snsh", "-l", "core.lib", "-e", "print(lib.comma_value(1234))") == "1,234\n"
    assert ok("snsh", "-e", "print(packet.from_string('abc').length)") == "3\n"


def test_snsh_runs_selftests(tmp_path):
    for name, body in {"good": "print('tested')", "bad": "error('no good')",
                       "skipped": "main.exit(engine.test_skipped_code)"}.items():
        (tmp_path / f"{name}.lua").write_text(
            f"return {{selftest = function() {body} end}}")
    (tmp_path / "without.lua").write_text("return {}")
    def status(name):
        return perigee("snsh", "-P", f"{tmp_path}/?.lua", "-t", name).returncode
    assert [status(name) for name in ("good", "bad", "skipped", "without", "missing")] \
        == [0, 1, 43, 2, 2]


def test_snsh_runs_a_script(tmp_path):
    script = tmp_path / "script.lua"
    script.write_text("print(arg[1], main.parameters[2], ...)")
    assert ok("snsh", script, "a", "b") == "a\tb\ta\tb\n"
    assert ok("snsh", "-e", "y = 1", script) == "nil\tnil\n"


def test_snsh_reads_lines_from_a_pipe():
    result = perigee("snsh", input="x = 2\n=x + 1\nfor i = 1, 2 do\nprint(i)\nend\n"
                     "nonsense here\nerror('oops')\nprint('still here')\n")
    assert result.returncode == 0
    answers = re.sub("perigee> | +>> ", "", result.stdout)
    assert answers.startswith("Perigee 0")
    assert "\n3\n1\n2\n" in answers
    assert "'=' expected near 'here'" in answers
    assert "oops" in answers and "still here\n" in answers


def test_snsh_starts_without_dpdk():
    """What takes long isn't done before it is needed."""
    assert ok("snsh", "-e", "print(require('core.native').pg_eal_started())") == "false\n"

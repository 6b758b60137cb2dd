# SPDX-License-Identifier: Apache-2.0
"""`perigee upgrade` while its command, too, is killed, another upgrade is under way, or the old
one's program is gone: one process has the name, and nothing is left behind."""

import contextlib
import os
import pathlib
import re
import shutil
import signal

from helpers.command import PERIGEE, catches, readable_copy, run, running, wait_until
from test_keep import environment  # noqa: F401 (a fixture)
from test_upgrade import BAD_AT_ITS_TURN, QUIET, ended

@contextlib.contextmanager
def old_one(env, program=PERIGEE):
    with ended(env), running(program, "--keep", "x", "click", "-e", QUIET, env=env) as old:
        old.wait_for_engine()
        yield old


def names(env):
    return pathlib.Path(env["SNABB_SHM_ROOT"], "keep")


def children(process):
    path = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(pid) for pid in path.read_text().split()]


def begun(process):
    """Its children that run what they were started for."""
    return [pid for pid in children(process)
            if b"\0click\0" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()]


def in_charge(env):
    """Who runs, but for those that stand by."""
    said = run(PERIGEE, "ps", env=env).stdout
    return [int(pid) for pid in re.findall(r"^(\d+) +click .*control.socket$", said, re.M)]


@contextlib.contextmanager
def taking_over(env, old):
    """An upgrade whose new process waits for the old one, which stands still."""
    old.send(signal.SIGSTOP)
    with running(PERIGEE, "upgrade", "x", env=env) as upgrading:
        wait_until((names(env) / ".x.next").exists, "the takeover")
        [new] = children(upgrading)
        yield upgrading, new


def is_clean(env):
    """Nothing of an upgrade but what the last one replaced."""
    return {path.name for path in names(env).iterdir()} <= {"x", ".x.before"}


def test_both_the_command_and_the_new_one_are_killed(environment):  # noqa: F811
    """What ran before is started again once the old one has ended."""
    with old_one(environment) as old:
        with taking_over(environment, old) as (upgrading, new):
            upgrading.process.kill()
            os.kill(new, signal.SIGKILL)
            upgrading.wait_for("what ran before is started again")
        old.send(signal.SIGCONT)
        assert old.process.wait(60) == 0
        [again] = wait_until(lambda: in_charge(environment), "what ran before")
        assert again not in (old.pid, new)
        wait_until(lambda: is_clean(environment), lambda: list(names(environment).iterdir()))


def test_the_command_is_killed_as_the_old_one_ends(environment):  # noqa: F811
    with old_one(environment) as old:
        with taking_over(environment, old) as (upgrading, new):
            upgrading.process.kill()
            upgrading.wait_for("its command was killed")
            old.send(signal.SIGCONT)
            assert old.process.wait(60) == 0
            wait_until(lambda: in_charge(environment) == [new], "the new one")
            wait_until(lambda: is_clean(environment), "its files' end")


def test_the_command_is_killed_before_the_new_one_is_ready(environment):  # noqa: F811
    with old_one(environment) as old:
        with running(PERIGEE, "upgrade", "x", env=environment) as upgrading:
            [new] = wait_until(lambda: begun(upgrading), "the new process")
            upgrading.process.kill()
            upgrading.wait_for("its command was killed")
        wait_until(lambda: not pathlib.Path("/proc", str(new)).exists(), "its end")
        assert in_charge(environment) == [old.pid]
        wait_until(lambda: is_clean(environment), "its files' end")
        assert old.interrupt() == 0


def test_the_command_and_the_old_one_are_killed(environment):  # noqa: F811
    """Before the new one is ready: it takes over all the same."""
    with old_one(environment) as old:
        with running(PERIGEE, "upgrade", "x", env=environment) as upgrading:
            [new] = wait_until(lambda: begun(upgrading), "the new process")
            upgrading.process.kill()
            old.process.kill()
            upgrading.wait_for("its command was killed")
            wait_until(lambda: in_charge(environment) == [new], lambda: run(
                PERIGEE, "ps", env=environment).stdout, timeout=60)
            wait_until(lambda: is_clean(environment), "its files' end")


def test_one_upgrade_at_a_time(environment):  # noqa: F811
    with old_one(environment) as old:
        with taking_over(environment, old) as (upgrading, new):
            other = run(PERIGEE, "upgrade", "x", env=environment)
            assert (other.returncode, other.stderr) == (
                1, "perigee: upgrade x: another upgrade of it is under way\n")
            old.send(signal.SIGCONT)
            assert upgrading.finish() == 0
        assert in_charge(environment) == [new]
        assert is_clean(environment)


def test_the_old_ones_program_is_gone(environment, tmp_path):  # noqa: F811
    """As when a package was upgraded meanwhile: if the new one fails as it takes over, the old
    command is started with the program that there is."""
    graph = tmp_path / "graph.lua"
    graph.write_text(BAD_AT_ITS_TURN)
    (tmp_path / "old").mkdir()
    program = readable_copy(tmp_path / "old")
    for is_replaced in True, False:
        with old_one(environment, program) as old:
            program.unlink()
            if is_replaced:
                shutil.copy(PERIGEE, program)
            wrong = run(PERIGEE, "upgrade", "x", "--", "run", graph, env=environment)
            found = re.search(r"what ran before is started again, as process (\d+)", wrong.stderr)
            assert wrong.returncode == 1 and found, wrong.stderr
            assert old.process.wait(60) == 0
            wait_until(lambda pid=found[1]: catches(pid), "what ran before")
            exe = os.readlink(f"/proc/{found[1]}/exe")
            assert exe == str(program if is_replaced else PERIGEE)
            assert not (names(environment) / ".x.before").exists()  # for --back
            os.kill(int(found[1]), signal.SIGKILL)


def test_what_killed_ones_have_left_is_removed(environment):  # noqa: F811
    """Sockets and notes; those of processes that run stay."""
    standing_by = [PERIGEE, "--keep", "x", "--standby", "click", "-e",
                   "FromDPDKDevice(0) -> Discard", "--device", "0=ring:quiet"]
    with old_one(environment) as old, running(*standing_by, env=environment) as second, \
            running(*standing_by, env=environment) as third:
        for process in second, third:
            process.wait_for("stands by for")
        wait_until(lambda: len(list(names(environment).glob(".x.*.passed"))) == 2, "both")
        second.process.kill()
        second.process.wait()
        (names(environment) / ".x.next").write_text("1/2/3\n")
        assert old.interrupt() == 0
        third.wait_for("took over in")
        wait_until(lambda: is_clean(environment), lambda: list(names(environment).iterdir()))
        with running(*standing_by, env=environment) as fourth:
            fourth.wait_for("stands by for")
            [path] = names(environment).glob(".x.*.passed")
            assert str(fourth.pid) in path.name
            assert third.interrupt() == 0
            fourth.wait_for("took over in")
            assert fourth.interrupt() == 0

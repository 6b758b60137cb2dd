# SPDX-License-Identifier: Apache-2.0
"""Ordinary users, and several processes side by side; with hugepages and without."""

import contextlib
import os
import pathlib
import signal
import tempfile

import pytest

from helpers.command import (PERIGEE, ROOT, check, perigee, run, running, tool,
                             wait_until)
from helpers.report import account

NOBODY = 65534
NOBODYS_SHM = pathlib.Path(f"/tmp/snabb-{NOBODY}")
NR_HUGEPAGES = pathlib.Path("/proc/sys/vm/nr_hugepages")
FREE_HUGEPAGES = pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")
ENOUGH = 256  # pages of 2 MB: several processes' pools

HAS_HUGEPAGES = """packet.allocate()
print(require("core.native").pg_eal_hugepages())"""


@contextlib.contextmanager
def hugepages(wanted):
    """See to it that so many hugepages are free, or with 0, that none are used. Gives
    perigee's arguments for that."""
    if not wanted:
        yield ["--eal", "--no-huge"]
        return
    before = NR_HUGEPAGES.read_text()
    lacking = wanted - int(FREE_HUGEPAGES.read_text())
    if lacking > 0 and os.geteuid() != 0:
        pytest.skip("reserves hugepages, as root")
    try:
        if lacking > 0:
            NR_HUGEPAGES.write_text(str(int(before) + lacking))
        yield []
    finally:
        if lacking > 0:
            NR_HUGEPAGES.write_text(before)


@pytest.fixture(params=[ENOUGH, 0], ids=["hugepages", "no hugepages"])
def memory(request):
    with hugepages(request.param) as arguments:
        yield arguments


@pytest.fixture(scope="module")
def installed():
    """Perigee where everybody may read it."""
    had_shm = NOBODYS_SHM.exists()
    with tempfile.TemporaryDirectory(prefix="perigee-test-") as directory:
        os.chmod(directory, 0o755)
        check("make", "-C", ROOT, "--no-print-directory", "install",
              f"PREFIX={directory}")
        yield pathlib.Path(directory) / "bin" / "perigee"
    if not had_shm:
        with contextlib.suppress(FileNotFoundError):
            NOBODYS_SHM.rmdir()  # empty, or a process has left something


def as_nobody(*command):
    """The command run by a user without any rights, where we may choose."""
    if os.geteuid() != 0:
        # DPDK's files: without a directory for them they would be in /tmp/dpdk, which
        # may be another user's.
        return ["env", f"XDG_RUNTIME_DIR={command[0].parent.parent}", *command]
    return [tool("setpriv"), f"--reuid={NOBODY}", f"--regid={NOBODY}",
            "--clear-groups", "--inh-caps=-all", *command]


def test_an_ordinary_user_forwards(installed, memory):
    result = run(*as_nobody(installed, *memory, "echo", "null", 1, 0.3), cwd="/")
    assert (result.returncode, result.stderr) == (0, "")
    assert account(result.stdout)["received"] > 1000
    result = run(*as_nobody(installed, *memory, "snsh", "-e", HAS_HUGEPAGES), cwd="/")
    assert result.stdout == f"{str(not memory).lower()}\n"


@pytest.mark.parametrize("port, missing", [
    ("packet:lo", "this needs root or CAP_NET_RAW; run it with sudo"),
    ("tap:perigee0", "root")])
def test_an_ordinary_user_is_told_what_needs_root(installed, port, missing):
    result = run(*as_nobody(installed, "echo", port), cwd="/")
    assert result.returncode == 2
    assert result.stderr.startswith(f"perigee: app 'port': port '{port}': ")
    assert missing in result.stderr and result.stderr.count("\n") == 1


def test_processes_side_by_side(installed, memory):
    with contextlib.ExitStack() as stack:
        commands = [[installed, *memory, "echo", "null", length] for length in (1, 2)]
        commands.append(as_nobody(*commands[0]))
        programs = [stack.enter_context(running(*c, cwd="/")) for c in commands]
        for program in programs:
            program.wait_for_engine()
        assert programs[-1].runs_for(0.3), programs[-1].said
        for program in programs:
            assert program.interrupt() == 0, program.said
            a = account(program.said)
            assert a["received"] == a["sent"] > 1000


def test_what_a_killed_process_leaves_is_removed_by_the_next(tmp_path):
    environment = {**os.environ, "SNABB_SHM_ROOT": str(tmp_path)}
    with running(PERIGEE, "echo", "null", env=environment) as program:
        mine = tmp_path / str(program.pid)
        wait_until(lambda: (mine / "engine").exists(), mine)
        program.send(signal.SIGKILL)
        program.finish()
    assert mine.exists()
    kept = tmp_path / str(os.getpid())
    kept.mkdir()
    result = perigee("echo", "null", 1, 0.01, env=environment)
    assert result.returncode == 0, result.stderr
    assert list(tmp_path.iterdir()) == [kept]

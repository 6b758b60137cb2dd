# SPDX-License-Identifier: Apache-2.0
"""Ordinary users, and several processes side by side; with hugepages and without."""

import contextlib
import grp
import os
import pathlib
import re
import signal
import stat
import tempfile

import pytest

from helpers.command import (PERIGEE, check, perigee, readable_copy, run, running,
                             tool, wait_until)
from helpers.report import account

NOBODY = 65534
NOBODYS_SHM = pathlib.Path(f"/tmp/snabb-{NOBODY}")
NR_HUGEPAGES = pathlib.Path("/proc/sys/vm/nr_hugepages")
FREE_HUGEPAGES = pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")
ENOUGH = 256  # pages of 2 MB: several processes' pools
FEW = 20      # fewer than one's

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
    if lacking <= 0:
        yield []
        return
    if not os.access(NR_HUGEPAGES, os.W_OK):
        pytest.skip(f"reserves hugepages, and may not write {NR_HUGEPAGES} here")
    try:
        NR_HUGEPAGES.write_text(str(int(before) + lacking))
        yield []
    finally:
        NR_HUGEPAGES.write_text(before)


@pytest.fixture(params=[ENOUGH, 0], ids=["hugepages", "no hugepages"])
def memory(request):
    with hugepages(request.param) as arguments:
        yield arguments


@pytest.fixture(scope="module", autouse=True)
def nobodys_shm():
    had_shm = NOBODYS_SHM.exists()
    yield
    if not had_shm:
        with contextlib.suppress(FileNotFoundError):
            NOBODYS_SHM.rmdir()  # empty, or a process has left something


def as_nobody(*command):
    """The command run by a user without any rights, where we may choose."""
    if os.geteuid() != 0:
        # DPDK's files: without a directory for them they would be in /tmp/dpdk, which
        # may be another user's.
        return ["env", f"XDG_RUNTIME_DIR={command[0].parent}", *command]
    return [tool("setpriv"), f"--reuid={NOBODY}", f"--regid={NOBODY}",
            "--clear-groups", "--inh-caps=-all", *command]


def test_an_ordinary_user_forwards(readable, memory):
    result = run(*as_nobody(readable, *memory, "echo", "null", 1, 0.3), cwd="/")
    assert (result.returncode, result.stderr) == (0, "")
    assert account(result.stdout)["received"] > 1000
    result = run(*as_nobody(readable, *memory, "snsh", "-e", HAS_HUGEPAGES), cwd="/")
    assert result.stdout == f"{str(not memory).lower()}\n"


@pytest.mark.parametrize("port, missing", [
    ("packet:lo", "this needs root or CAP_NET_RAW; run it with sudo"),
    ("tap:perigee0", "root")])
def test_an_ordinary_user_is_told_what_needs_root(readable, port, missing):
    result = run(*as_nobody(readable, "echo", port), cwd="/")
    assert result.returncode == 2
    assert result.stderr.startswith(f"perigee: app 'port': port '{port}': ")
    assert missing in result.stderr and result.stderr.count("\n") == 1


def test_processes_side_by_side(readable, memory):
    with contextlib.ExitStack() as stack:
        commands = [[readable, *memory, "echo", "null", length] for length in (1, 2)]
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


@pytest.mark.parametrize("program", [
    ["ps"], ["echo", "null", "1", "10ms"], ["proto", "udp"], ["run", "mine.lua"],
    ["snsh", "-e", "print(1)"]], ids=lambda words: words[0])
def test_nothing_comes_from_the_working_directory(program, tmp_path):
    """Root may stand in anybody's folder."""
    for name in "argparse", "cjson", "posix/errno", "posix/unistd", "core/app", "lib/cli":
        file = tmp_path / f"{name}.lua"
        file.parent.mkdir(exist_ok=True)
        file.write_text("print('code of another') os.exit(3)")
    (tmp_path / "mine.lua").write_text("print(pcall(require, 'no_such_module'))")
    result = perigee(*program, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "code of another" not in result.stdout
    assert "'./" not in result.stdout


def test_lua_path_is_the_users_own(tmp_path):
    (tmp_path / "of_mine.lua").write_text("return 'found'")
    (tmp_path / "mine.lua").write_text("print(require('of_mine'))")
    result = perigee("run", "mine.lua", cwd=tmp_path,
                     env={**os.environ, "LUA_PATH": "./?.lua;;"})
    assert result.stdout == "found\n", result.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
@pytest.mark.parametrize("closed", ["src", "src/command_line.lua"])
def test_a_tree_that_this_user_may_not_read(closed, scratch):
    """It isn't taken for one that isn't there."""
    scratch.chmod(0o755)
    program = readable_copy(scratch)
    (scratch / closed).chmod(0)
    result = run(*as_nobody(program, "ps"), cwd="/")
    assert result.returncode == 1
    assert result.stderr == (
        f"perigee: {scratch}/src/command_line.lua can't be read: Permission denied; let this "
        "user read the tree, or install it where all users can (make install)\n")


# Shared memory ------------------------------------------------------------------


def modes_below(folder):
    """The permissions of all files and of all directories below the folder."""
    files, folders = set(), {stat.S_IMODE(folder.stat().st_mode)}
    for path in folder.rglob("*"):
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:  # made under another name at first
            continue
        if stat.S_ISREG(mode):
            files.add(stat.S_IMODE(mode))
        elif stat.S_ISDIR(mode):
            folders.add(stat.S_IMODE(mode))
    return files, folders


def groups_below(folder):
    """The groups of all files and folders below the folder, not of its socket, by which
    a program is changed."""
    groups = set()
    for path in folder.rglob("*"):
        try:
            if not path.is_socket():
                groups.add(path.group())
        except FileNotFoundError:
            continue
    return groups


# One that is read by others: any, for root; else one that this user is in.
GROUP = "daemon" if os.geteuid() == 0 else grp.getgrgid(os.getgid()).gr_name


@pytest.mark.parametrize("options, files, folders", [
    ([], 0o600, 0o700), (["--group", GROUP], 0o640, 0o750)], ids=["none", "group"])
def test_shared_memory_is_this_users(options, files, folders, tmp_path):
    environment = {**os.environ, "SNABB_SHM_ROOT": str(tmp_path / "shm")}
    with running(PERIGEE, *options, "echo", "null", 1, env=environment) as program:
        folder = tmp_path / "shm" / str(program.process.pid)
        wait_until((folder / "apps").exists, "its apps")
        wait_until(lambda: modes_below(folder) == ({files}, {folders}), "its modes")
        if options:
            wait_until(lambda: groups_below(folder) == {GROUP}, "the group's files")
        socket = folder / "control.socket"
        wait_until(socket.exists, "its socket")
        assert stat.S_IMODE(socket.stat().st_mode) == 0o600


def test_a_group_that_this_user_is_not_in(readable):
    command = [readable, "--group", "0", "echo", "null", 1, "100ms"]
    if os.geteuid() == 0:
        command = [tool("setpriv"), "--reuid", str(NOBODY), "--regid", str(NOBODY),
                   "--clear-groups", *command]
    result = run(*command)
    assert result.returncode == 2
    assert result.stderr == ("perigee: --group 0: only root and its members can let that "
                             "group read; join it (usermod -aG), or name another\n")


def test_a_group_that_is_not_there():
    result = perigee("--group", "nobodys-group", "ps")
    assert result.returncode == 2
    assert result.stderr == "perigee: there is no group 'nobodys-group'\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a /dev/shm: wants root")
def test_anothers_folder_is_passed_over():
    """Everybody may write to /dev/shm: who is first with root's name doesn't block it."""
    script = """mount -t tmpfs tmpfs /dev/shm && mount -t tmpfs tmpfs /run &&
        mkdir /dev/shm/snabb && chown 65534 /dev/shm/snabb &&
        ln -s /dev/shm/snabb /run/snabb &&
        %s snsh -e 'print(require("core.shm").root)' &&
        ls /dev/shm/snabb | wc -l""" % PERIGEE
    result = run("unshare", "--mount", "sh", "-c", script)
    assert result.stdout == "/var/run/perigee\n0\n", result.stderr


NO_SHM = """mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 &&
    mknod -m 666 /dev/zero c 1 5 && mknod -m 666 /dev/urandom c 1 9 &&"""
READ_ONLY_SHM = "mount -t tmpfs -o ro none /dev/shm &&"


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a /dev: wants root")
@pytest.mark.parametrize("user", [0, NOBODY])
@pytest.mark.parametrize("mounts", [NO_SHM, READ_ONLY_SHM], ids=["none", "read-only"])
def test_without_a_shared_memory_folder(mounts, user, readable):
    """As in containers: another place is found."""
    result = run("unshare", "--mount", "sh", "-c",
                 f"{mounts} exec setpriv --reuid={user} --regid={user} --clear-groups "
                 f"{readable} --eal --no-huge echo null 1 50ms")
    assert (result.returncode, result.stderr) == (0, "")
    account(result.stdout)


# What DPDK leaves behind ---------------------------------------------------------


@pytest.mark.parametrize("user", ["root", "nobody"])
def test_no_folder_is_left_behind(user, readable):
    """By a run that ended, nor, after the next one, by one that was killed."""
    if user == "root" and os.geteuid() != 0:
        pytest.skip("wants root")
    folder = pathlib.Path("/var/run/dpdk" if user == "root"
                          else f"/tmp/perigee-{NOBODY}/dpdk")
    words = [readable, "--eal", "--no-huge", "echo", "null", 1]
    if user == "nobody" and os.geteuid() == 0:
        words = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                 "env", "-u", "XDG_RUNTIME_DIR", *words]
    elif user == "nobody":
        pytest.skip("wants root, to be another user")
    with running(*words) as program:
        pid = program.process.pid
        namespace = os.stat("/proc/self/ns/pid").st_ino
        own = folder / f"perigee-{pid}-{namespace}"
        wait_until(own.exists, "EAL's folder")
        program.process.kill()
        program.process.wait()
        assert own.exists()
    check(*words, "50ms")
    assert not own.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a hugetlbfs: wants root")
def test_hugepages_that_cannot_be_used(scratch, readable):
    """Plain memory takes their place; one line says why, to those who ask."""
    scratch.chmod(0o755)
    with hugepages(ENOUGH):
        result = run("unshare", "--mount", "sh", "-c",
                     f"mount -t hugetlbfs -o mode=000,uid=0 none {scratch} && "
                     f"exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups "
                     f"{readable} --log-level info echo null 1 50ms")
    assert result.returncode == 0, result.stderr
    assert result.stderr == (f"perigee: the hugetlbfs at {scratch} is closed to this "
                             "user, so plain memory is used\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="reserves hugepages: wants root")
def test_hugepages_that_are_nearly_used_up():
    """Too few for a pool are left alone; one line says why, to those who ask."""
    with hugepages(FEW):
        free = int(pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB/"
                                "free_hugepages").read_text())
        if not 0 < free <= FEW:
            pytest.skip(f"there are {free} free hugepages, not a few")
        silent = perigee("echo", "null", "1", "50ms")
        result = perigee("--log-level", "info", "echo", "null", "1", "50ms")
    assert (silent.returncode, silent.stderr) == (0, "")
    assert result.returncode == 0, result.stderr
    assert re.fullmatch(r"perigee: 128 MB of hugepages can't be had \(\d+ MB are free\), "
                        r"so plain memory is used\n", result.stderr), result.stderr

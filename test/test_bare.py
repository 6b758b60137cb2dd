# SPDX-License-Identifier: Apache-2.0
"""packaging/bare, and .ci/run, which uses it. A stand-in for debootstrap shows this
machine's /usr in the place of a system that takes minutes to make."""

import os
import pathlib
import shutil
import signal

import pytest

from helpers.command import ROOT, check, run, running, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="wants root, for namespaces")

DEBOOTSTRAP = """#!/bin/sh
while [ "${1#--}" != "$1" ]; do shift; done
mkdir -p "$2/root" "$2/usr" "$2/etc/apt/apt.conf.d" "$2/proc" "$2/sys" "$2/dev" "$2/tmp"
chmod 700 "$2/root"
mkdir -p "$2/var/cache/apt/archives" "$2/run"
for name in bin sbin lib lib64; do [ ! -e "/$name" ] || ln -s "usr/$name" "$2/$name"; done
cp /etc/passwd /etc/group "$2/etc"
mknod -m 666 "$2/dev/null" c 1 3
mkdir "$2.sbin"
mount --bind /usr "$2/usr"
mount --bind "$2.sbin" "$2/usr/sbin"
"""


class Tree:
    """A small repository with the scripts, and a PATH with the stand-in."""

    def __init__(self, folder):
        self.path, self.temporary = folder / "tree", folder / "tmp"
        self.path.mkdir()
        self.temporary.mkdir()
        for name in ".ci", "packaging":
            shutil.copytree(ROOT / name, self.path / name)
        self.write("tools/make", "#!/bin/sh\nshift\npwd\nstat -c %a /root\necho \"$CI\"\n"
                   "echo warned >&2\necho '3 passed, 0 failed, 1 skipped'\nexit $(cat status)\n")
        self.write("status", "0")
        self.debootstrap = folder / "bin/debootstrap"
        self.write(self.debootstrap, DEBOOTSTRAP)
        self.commit()
        self.environment = {
            **os.environ, "PATH": f"{self.debootstrap.parent}:{os.environ['PATH']}",
            "TMPDIR": str(self.temporary), "DEBS": str(folder / "debs")}
        self.environment.pop("ROOT", None)

    def write(self, name, text):
        file = self.path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)

    def git(self, *words):
        return check("git", "-C", self.path, "-c", "user.name=a", "-c", "user.email=a@b",
                     *words)

    def commit(self):
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "a 100% commit")
        return self.git("rev-parse", "--short", "HEAD").strip()

    def bare(self, *command):
        return [self.path / "packaging/bare", "bookworm", *command]

    def left(self):
        return list((self.temporary / "perigee-bare").iterdir())


@pytest.fixture
def tree(scratch):
    return Tree(scratch)


def test_the_tests_run_in_a_clone_in_a_bare_system(tree):
    result = run(tree.path / ".ci/run", env=tree.environment)
    assert result.returncode == 0, result.stderr
    what = (f"tools/make test in a bare bookworm, as root in /root/perigee, commit "
            f"{tree.git('log', '-1', '--format=%h').strip()} (a 100% commit)")
    assert result.stdout == (f"== {what}\n/root/perigee\n700\ntrue\n== ran: {what}\n"
                             "3 passed, 0 failed, 1 skipped\n")
    assert "warned\n" in result.stderr
    assert tree.left() == []


def test_the_exit_status_is_the_tests(tree):
    tree.write("status", "2")
    tree.commit()
    tree.write("status", "0")  # what isn't committed isn't there
    result = run(tree.path / ".ci/run", env=tree.environment)
    assert result.returncode == 2
    assert result.stdout.endswith("\n3 passed, 0 failed, 1 skipped\n")


def test_processes_mounts_and_memory_are_its_own(tree):
    result = run(*tree.bare("sh", "-c", "echo $$; ls /dev/shm; readlink /proc/self/ns/ipc "
                            "/proc/self/ns/mnt /proc/self/ns/pid; echo; echo"),
                 env=tree.environment)
    said = result.stdout.splitlines()
    assert 1 < int(said[1]) < 100
    assert len(said[2:5]) == 3 and not {
        os.readlink(f"/proc/self/ns/{kind}") for kind in ("ipc", "mnt", "pid")} & set(said)


def test_without_a_bare_system_the_tests_run_here(tree):
    tree.write(tree.debootstrap, "#!/bin/sh\necho no mirror\nexit 1\n")
    result = run(tree.path / ".ci/run", env=tree.environment)
    assert result.returncode == 0
    assert "no mirror\npackaging/bare: no bare system can be made here: " in result.stderr
    assert f"\n{tree.path}\n" in result.stdout
    ran, sums = result.stdout.splitlines()[-2:]
    assert ran.startswith("== ran: tools/make test here, in no bare system")
    assert sums == "3 passed, 0 failed, 1 skipped"
    assert tree.left() == []


LONG = f"1000.{os.getpid()}"  # seconds, by which our processes are known
SLEEP = ["sh", "-c", f"trap '' INT TERM HUP; sleep {LONG} & echo be'gun'; echo; "
         f"sleep {LONG}; sleep {LONG}"]


def sleepers():
    """The processes that sleep so long."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cmdline").read_bytes() == f"sleep\0{LONG}\0".encode():
                found.append(process.name)
        except OSError:  # it has ended
            continue
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_nothing_is_left_when_it_is_ended(tree, number):
    with running(*tree.bare(*SLEEP), env=tree.environment) as process:
        process.wait_for("begun")
        wait_until(lambda: len(sleepers()) == 2, "both sleepers")
        assert process.interrupt(number) == 128 + number
    assert (sleepers(), tree.left()) == ([], [])


def test_when_it_is_killed_the_next_one_tidies_up(tree):
    with running(*tree.bare(*SLEEP), env=tree.environment) as process:
        process.wait_for("begun")
        process.process.kill()
        wait_until(lambda: not sleepers(), "the end of what ran in it")
        assert tree.left()
    with running(*tree.bare(*SLEEP), env=tree.environment) as other:
        other.wait_for("begun")
        mine = set(tree.left())
        run(*tree.bare("true"), env=tree.environment)  # leaves one that is running alone
        assert set(tree.left()) == mine
        assert other.interrupt(signal.SIGTERM) == 128 + signal.SIGTERM
    assert tree.left() == []


def test_a_system_of_another_architecture_is_made_so(tree):
    words = tree.path.parent / "words"
    tree.write(tree.debootstrap, f'#!/bin/sh\necho "$@" >{words}\nexit 1\n')
    here = check("dpkg", "--print-architecture").strip()
    for suite, wanted in (f"bookworm:{here}", True), ("bookworm", False):
        run(tree.path / "packaging/bare", suite, "true", env=tree.environment)
        assert (f"--arch={here} bookworm " in words.read_text()) == wanted
    result = run(tree.path / "packaging/bare", "bookworm:vax", "true", env=tree.environment)
    assert result.returncode == 1
    assert "'vax' is no architecture that Perigee runs on; there are amd64 and arm64" \
        in result.stderr
    assert tree.left() == []


@pytest.mark.parametrize("words, said", [
    ([], "SUITE [--user] COMMAND"), (["bookworm"], "SUITE [--user] COMMAND"),
    (["bookworm", "--user"], "SUITE [--user] COMMAND")])
def test_it_says_what_it_wants(tree, words, said):
    result = run(tree.path / "packaging/bare", *words, env=tree.environment)
    assert result.returncode == 2 and said in result.stderr

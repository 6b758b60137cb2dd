# SPDX-License-Identifier: Apache-2.0
"""tools/setup, and tools/make where there is no make yet. The system's package tools are
stand-ins here, which write down how they are called."""

import os
import re
import shutil
import stat

import pytest

from helpers.command import ROOT, run

BUILD_PACKAGES = {"gcc", "libdpdk-dev", "libluajit-5.1-dev", "libpcap0.8", "lua-posix", "make"}
TEST_PACKAGES = {"curl", "dpdk-dev", "lua-busted", "python3-cryptography", "python3-pytest",
                 "python3-scapy", "iperf3"}


class Machine:
    """A PATH with stand-ins for the commands that tools/setup calls."""

    def __init__(self, path):
        self.path, self.log = path, path / "calls"
        path.mkdir()
        self.installed = {"bash", "mount"}
        self.provide("dpkg-query", 'cat "$0.installed"')
        self.provide("id", "echo 0")
        self.provide("apt-get", f'echo "$@" >> "{self.log}"')
        for name in "cat", "dirname", "env", "grep", "sed", "sh":
            (path / name).symlink_to(shutil.which(name))

    def provide(self, name, script):
        file = self.path / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)

    def run(self, *command):
        (self.path / "dpkg-query.installed").write_text(
            "config-files gcc \n" + "".join(f"installed {name}\n" for name in self.installed))
        # PATH is searched first; what tools/setup adds to it has no stand-ins.
        return run("/bin/sh", *command, env={"PATH": str(self.path)})

    def setup(self, *args):
        return self.run(ROOT / "tools/setup", *args)

    def asked_to_install(self):
        """The packages of apt-get's last call."""
        words = self.log.read_text().splitlines()[-1].split()
        assert "install" in words and "-y" in words
        return {word for word in words[words.index("install") + 1:] if word[0] != "-"}


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path / "bin")


def test_setup_installs_what_is_missing_and_says_so(machine):
    machine.installed |= {"gcc"}
    result = machine.setup()
    assert result.returncode == 0, result.stderr
    assert machine.asked_to_install() >= BUILD_PACKAGES - {"gcc"}
    assert not machine.asked_to_install() & (TEST_PACKAGES | {"gcc"})
    assert "Installing with apt: " in result.stdout
    for package in machine.asked_to_install():
        assert f" {package}" in result.stdout


def test_setup_for_tests_installs_more(machine):
    assert machine.setup("test").returncode == 0
    assert machine.asked_to_install() >= BUILD_PACKAGES | TEST_PACKAGES


def test_setup_does_nothing_where_all_is_there(machine):
    machine.setup("test")
    machine.installed |= machine.asked_to_install()
    machine.log.unlink()
    machine.provide("id", "echo 1000")
    result = machine.setup("test")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert not machine.log.exists()


def test_setup_for_tests_does_without_what_is_optional(machine):
    machine.setup("test")
    machine.installed |= machine.asked_to_install()
    machine.provide("apt-cache", "shift; printf '%s:\\n  Candidate: 156.0\\n' \"$@\"")
    machine.provide("apt-get", f'echo "$@" >> "{machine.log}"; exit 100')
    result = machine.setup("test")
    assert result.returncode == 0
    assert machine.asked_to_install() == {
        "bird2", "busybox-static", "chromium", "graphviz", "keepalived", "libhyperscan5",
        "linuxptp", "lua-ldoc", "lua-readline", "mkdocs", "mkdocs-material", "openssl",
        "qemu-system-x86", "tcpreplay"}
    assert "couldn't install bird2 busybox-static chromium graphviz keepalived " \
        "libhyperscan5 linuxptp lua-ldoc lua-readline mkdocs mkdocs-material openssl " \
        "qemu-system-x86 tcpreplay; what needs it is skipped" \
        in result.stderr
    machine.log.unlink()
    assert machine.setup("build").returncode == 0
    assert not machine.log.exists()


LUAJITS = """for name; do case $name in
libluajit-5.1-dev) printf '%s:\\n  Candidate: 2.1.0~beta3+git20220320+dfsg-4.1\\n' $name ;;
libluajit2-5.1-dev) printf '%s:\\n  Candidate: 2.1-20230119-1\\n' $name ;;
*) printf '%s:\\n  Candidate: (none)\\n' $name ;;
esac; done"""


def with_two_luajits(machine, removed="libluajit-5.1-2"):
    """Debian 12's, of which the second compiles all loops rightly; it removes that."""
    machine.provide("apt-cache", LUAJITS)
    machine.provide("apt-get", f'case "$1" in -s) echo "Remv {removed} [1]"; exit;; esac; '
                    f'echo "$@" >> "{machine.log}"')


def test_setup_takes_the_better_luajit(machine):
    with_two_luajits(machine)
    assert machine.setup().returncode == 0
    assert machine.asked_to_install() >= \
        BUILD_PACKAGES - {"libluajit-5.1-dev"} | {"libluajit2-5.1-dev"}
    assert "libluajit-5.1-dev" not in machine.asked_to_install()
    machine.installed |= machine.asked_to_install()
    machine.log.unlink()
    assert machine.setup().returncode == 0
    assert not machine.log.exists()


def test_setup_understands_apt_in_any_language(machine):
    with_two_luajits(machine)
    machine.provide("apt-cache", f"LUAJITS() {{ {LUAJITS}\n}}\n"
                    'LUAJITS "$@" | if [ "$LC_ALL" = C ]; then cat; '
                    'else sed s/Candidate/Installationskandidat/; fi')
    assert machine.setup().returncode == 0
    assert "libluajit2-5.1-dev" in machine.asked_to_install()


def test_setup_knows_packages_by_what_they_provide(machine):
    """Debian 13 and Ubuntu 24.04 have libpcap0.8t64."""
    machine.setup("test")
    machine.installed |= machine.asked_to_install() - {"libpcap0.8"} | {
        "libpcap0.8t64 libpcap0.8 (= 1.10.5-2), libpcap (= 1)"}
    machine.log.unlink()
    assert (machine.setup("test").stdout, machine.log.exists()) == ("", False)
    machine.installed -= {name for name in machine.installed if "t64" in name}
    machine.setup("test")
    assert machine.asked_to_install() == {"libpcap0.8"}


def test_setup_asks_apt_once(machine):
    """Each call takes half a second or more."""
    machine.provide("id", "echo 1000")
    machine.provide("sudo", "exit 1")
    machine.provide("apt-cache", f'echo asked >> "{machine.log}"; {LUAJITS}')
    assert machine.setup("test").returncode == 1
    assert machine.log.read_text().count("asked") == 1 + 1  # before and after an update


def test_setup_says_what_new_package_lists_change(machine):
    """A fresh machine has none."""
    with_two_luajits(machine)
    machine.provide("apt-cache", f'[ -e "{machine.log}" ] || exit 0; {LUAJITS}')
    result = machine.setup()
    assert result.returncode == 0
    said = [line for line in result.stdout.splitlines() if line.startswith("Installing")]
    assert [line.split()[-1] for line in said] == ["libluajit-5.1-dev", "libluajit2-5.1-dev"]
    assert set(said[1].split(":")[1].split()) == machine.asked_to_install()


def test_setup_removes_nothing_for_a_luajit(machine):
    with_two_luajits(machine, "neovim")
    assert machine.setup().returncode == 0
    assert machine.asked_to_install() >= BUILD_PACKAGES
    assert "libluajit2-5.1-dev" not in machine.asked_to_install()


def test_setup_exchanges_the_luajit_if_it_can(machine):
    machine.setup()
    machine.installed |= machine.asked_to_install()
    with_two_luajits(machine)
    assert machine.setup().returncode == 0
    assert machine.asked_to_install() == {"libluajit2-5.1-dev"}
    machine.provide("apt-get", '[ "$1" = -s ]')
    result = machine.setup()
    assert result.returncode == 0
    assert "couldn't install libluajit2-5.1-dev; what needs it is skipped" in result.stderr
    machine.provide("id", "echo 1000")
    assert machine.setup().returncode == 0


def test_setup_goes_on_with_old_package_lists(machine):
    machine.provide("apt-get", f'echo "$@" >> "{machine.log}"; '
                    'case "$*" in *update*) exit 100;; esac')
    result = machine.setup()
    assert result.returncode == 0
    assert "couldn't be updated" in result.stderr
    assert machine.asked_to_install() >= BUILD_PACKAGES


def test_setup_fails_when_apt_does(machine):
    machine.provide("apt-get", "exit 100")
    result = machine.setup()
    assert result.returncode == 1
    assert "apt couldn't install" in result.stderr


@pytest.mark.skipif(not os.path.isdir("/run/systemd/system"),
                    reason="there is no systemd here, which would start servers")
@pytest.mark.parametrize("status", [0, 100])
def test_setup_leaves_no_service_masked(machine, status):
    machine.provide("systemctl", f'echo "$2" >> "{machine.log}.systemd"')
    machine.provide("apt-get", f"exit {status}")
    assert machine.setup("test").returncode == (1 if status else 0)
    assert (machine.path / "calls.systemd").read_text() == "mask\nunmask\n"


def test_setup_without_root_uses_sudo(machine):
    machine.provide("id", "echo 1000")
    machine.provide("sudo", f'echo sudo >> "{machine.log}"; exec "$@"')
    assert machine.setup().returncode == 0
    assert machine.log.read_text().count("sudo\n") == 2
    assert machine.asked_to_install() >= BUILD_PACKAGES


@pytest.mark.skipif(any(os.path.exists(f"{directory}/sudo") for directory in
                        ["/usr/local/sbin", "/usr/sbin", "/sbin"]),
                    reason="sudo is where tools/setup looks for it")
def test_setup_without_root_or_sudo_says_what_root_should_do(machine):
    machine.provide("id", "echo 1000")
    result = machine.setup()
    assert result.returncode == 1
    sentence, = result.stderr.splitlines()
    assert "neither root nor is there sudo" in sentence
    assert re.search(r"apt-get install( [\w.-]+)+$", sentence)
    assert not machine.log.exists()


def test_setup_refuses_what_it_does_not_know(machine):
    result = machine.setup("everything")
    assert result.returncode == 2
    assert "'everything'" in result.stderr


@pytest.mark.parametrize("goal, packages", [
    ("demo", BUILD_PACKAGES), ("test", BUILD_PACKAGES | TEST_PACKAGES),
    ("check", BUILD_PACKAGES | TEST_PACKAGES),
])
def test_tools_make_installs_make(machine, goal, packages):
    # apt-get, as it installs, puts a make into the PATH.
    made = machine.path / "made"
    machine.provide("made", f'echo "make $@" >> "{machine.log}.make"')
    machine.provide("apt-get", f'echo "$@" >> "{machine.log}"; '
                    f'cp "{made}" "{machine.path}/make"')
    (machine.path / "cp").symlink_to(shutil.which("cp"))
    result = machine.run(ROOT / "tools/make", goal, "A=b c")
    assert result.returncode == 0, result.stderr
    assert machine.asked_to_install() >= packages
    assert (machine.path / "calls.make").read_text() == f"make {goal} A=b c\n"

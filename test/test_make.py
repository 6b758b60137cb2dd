# SPDX-License-Identifier: Apache-2.0
"""What users call before there is a perigee: make install, tools/setup, tools/make.
The system's package tools are stand-ins here, which write down how they are called."""

import os
import re
import shutil
import stat

import pytest

from helpers.command import PERIGEE, ROOT, check, run

BUILD_PACKAGES = {"gcc", "libdpdk-dev", "libluajit-5.1-dev", "lua-posix", "make"}
TEST_PACKAGES = {"lua-busted", "python3-pytest", "python3-scapy", "iperf3"}


# make install -------------------------------------------------------------------


@pytest.fixture
def staged(tmp_path):
    """Perigee, installed under a prefix with a space in a staging directory."""
    staging = tmp_path / "staging area"
    check("make", "-C", ROOT, "install", f"DESTDIR={staging}", "PREFIX=/opt/my perigee")
    return staging


def files_below(directory):
    return {str(path.relative_to(directory)) for path in directory.rglob("*")
            if path.is_file()}


def declared():
    """The text of all Lua that names headers to be read (core.native, core.declare)."""
    return "".join(path.read_text() for room in ("src", "snabb", "click", "moongen")
                   for path in (ROOT / room).rglob("*.lua"))


def test_install_leaves_nothing_out_but_specs_and_c(staged):
    source = {f"{room}/{name}"
              for room in ("src", "snabb", "click", "moongen", "bench/model")
              for name in files_below(ROOT / room)}
    installed = files_below(staged / "opt/my perigee/share/perigee")
    assert installed <= source
    assert {"src/command_line.lua", "snabb/family.lua", "click/family.lua",
            "bench/model/all.lua",
            "src/apps/pcap/README.md"} <= installed
    assert all(re.search(r"_spec\.lua$|\.[ch]$|\.pyc$", name)
               for name in source - installed)
    assert not any(re.search(r"_spec\.lua$|\.c$", name) for name in installed)
    assert {name for name in installed if name.endswith(".h")} == {
        header for header in source if header.endswith(".h")
        and f'"{header.partition("/")[2]}"' in declared()}
    documents = files_below(staged / "opt/my perigee/share/doc/perigee")
    assert {"README.md", "LICENSE", "doc/apps.md", "examples/first.lua"} <= documents


def test_installed_perigee_runs_from_anywhere(staged, tmp_path):
    prefix = staged / "opt/my perigee"
    perigee = prefix / "bin/perigee"
    bare = {"PATH": "/usr/bin:/bin"}  # no HOME either
    result = run(perigee, cwd="/", env=bare)
    assert result.returncode == 0 and "  echo " in result.stdout
    link = tmp_path / "perigee"
    link.symlink_to(perigee)
    examples = prefix / "share/doc/perigee/examples"
    result = run(link, "run", examples / "generate.lua", "null", 10, cwd="/", env=bare)
    assert result.stdout == "sent 10 packets to null\n", result.stderr
    result = run(perigee, "model", "--quick", "--no-memory", "--ports", "null", "--out",
                 tmp_path / "model", cwd="/", env=bare)
    assert result.returncode == 0, result.stdout + result.stderr
    assert (tmp_path / "model/model.json").exists()
    result = run(perigee, "test", cwd="/", env=bare)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == ("perigee: specs are run from a checkout of Perigee; this "
                             "is an installation\n")


def test_uninstall_removes_all_of_it(staged):
    check("make", "-C", ROOT, "uninstall", f"DESTDIR={staged}",
          "PREFIX=/opt/my perigee")
    assert files_below(staged) == set()


# tools/setup --------------------------------------------------------------------


class Machine:
    """A PATH with stand-ins for the commands that tools/setup calls."""

    def __init__(self, path):
        self.path, self.log = path, path / "calls"
        path.mkdir()
        self.installed = {"bash", "mount"}
        self.provide("dpkg-query", 'grep -qx "$4" "$0.installed" && echo installed')
        self.provide("id", "echo 0")
        self.provide("apt-get", f'echo "$@" >> "{self.log}"')
        for name in "env", "grep", "sed", "sh", "dirname":
            (path / name).symlink_to(shutil.which(name))

    def provide(self, name, script):
        file = self.path / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)

    def run(self, *command):
        (self.path / "dpkg-query.installed").write_text(
            "".join(f"{name}\n" for name in self.installed))
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
    machine.provide("apt-cache", "echo '  Candidate: 156.0'")
    machine.provide("apt-get", f'echo "$@" >> "{machine.log}"; exit 100')
    result = machine.setup("test")
    assert result.returncode == 0
    assert machine.asked_to_install() == {"busybox-static", "chromium", "lua-ldoc", "lua-readline",
                                          "qemu-system-x86"}
    assert "couldn't install busybox-static chromium lua-ldoc lua-readline " \
        "qemu-system-x86; what needs it is skipped" in result.stderr
    machine.log.unlink()
    assert machine.setup("build").returncode == 0
    assert not machine.log.exists()


LUAJITS = """case $2 in
libluajit-5.1-dev) echo '  Candidate: 2.1.0~beta3+git20220320+dfsg-4.1' ;;
libluajit2-5.1-dev) echo '  Candidate: 2.1-20230119-1' ;;
esac"""


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


# tools/make ---------------------------------------------------------------------


@pytest.mark.fast
def test_tools_make_is_make(tmp_path):
    result = run(ROOT / "tools/make", "help", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout == check("make", "-s", "-C", ROOT, "help")
    assert {"demo", "test", "check", "bench", "compat", "clicktests",
            "clickelements", "moongentests", "moongensoak", "guest", "manual", "docs", "deb", "lint", "install",
            "uninstall", "clean"} == \
        set(re.findall(r"^make (\w+)", result.stdout, re.MULTILINE))


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


# tools/test ---------------------------------------------------------------------


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


# .ci/run ------------------------------------------------------------------------


@pytest.mark.fast
def test_continuous_integration_runs_the_readmes_command():
    readme = (ROOT / "README.md").read_text()
    commands = re.findall(r"^    (tools/make \w+)$", readme, re.MULTILINE)
    assert commands == ["tools/make demo", "tools/make test"]
    assert commands[1] in (ROOT / ".ci/run").read_text()
    assert os.access(ROOT / ".ci/run", os.X_OK)

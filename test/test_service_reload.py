# SPDX-License-Identifier: Apache-2.0
"""A service is reloaded, and its package upgraded: SIGHUP, another process in its place, or
a restart, and systemd knows the main process."""

import contextlib
import os
import re
import signal
import subprocess

import pytest

from helpers.command import PERIGEE, ROOT, run, running, wait_until
from helpers.service import Manager

UNIT = (ROOT / "packaging/systemd/perigee@.service").read_text()
POSTINST = (ROOT / "packaging/debian/perigee.postinst").read_text()
QUIET = "click -e RatedSource(RATE\t10)->Discard"  # systemd splits at spaces
GRAPH = "name: g\nports: {a: 'ring:a', b: 'ring:b'}\nlinks: [a -> b]\n"


class Service:
    """What systemd does with the unit's lines, as this user."""

    def __init__(self, folder, stack):
        self.manager = Manager(folder / "notify")
        stack.callback(self.manager.socket.close)
        self.environment = {**os.environ, "SNABB_SHM_ROOT": str(folder / "shm"),
                            "NOTIFY_SOCKET": str(folder / "notify")}
        self.stack = stack
        stack.callback(self.end)

    def words(self, key, settings):
        line = re.search(f"^{key}=/usr/bin/perigee (.*)$", UNIT, re.M)[1]
        for name, value in settings.items():
            line = line.replace(f"${name}", value)
        return [word.replace("perigee", str(os.getegid())) if word == "perigee" else word
                for word in line.split(" ") if word]

    def start(self, options, program):
        words = self.words("ExecStart", {"OPTIONS": options, "PROGRAM": program})
        self.process = self.stack.enter_context(running(
            "sh", "-c", 'WATCHDOG_PID=$$ exec "$@"', "sh", PERIGEE, *words,
            env={**self.environment, "WATCHDOG_USEC": "400000"}))
        self.manager.listen()
        self.manager.heard = []
        self.manager.wait_for("READY=1", self.process)
        self.main = self.process.pid

    def reload(self, options, program):
        """Its exit status and what it says; `main` becomes what it reports."""
        self.manager.listen()
        self.manager.heard = []
        with running(PERIGEE, *self.words("ExecReload", {
                "MAINPID": str(self.main), "OPTIONS": options, "PROGRAM": program}),
                env=self.environment) as reload:
            def ended():
                self.manager.listen()
                self.process.read()
                return not reload.read() and reload.process.poll() is not None
            wait_until(ended, "the reload's end")
            for line in self.manager.listen():
                if line.startswith("MAINPID="):
                    self.main = int(line.partition("=")[2])
            return reload.process.returncode, reload.said

    def shows_life(self):
        before = self.manager.listen().count("WATCHDOG=1")
        wait_until(lambda: self.process.read() and
                   self.manager.listen().count("WATCHDOG=1") >= before + 2, "signs of life")

    def command(self):
        with open(f"/proc/{self.main}/cmdline") as file:
            return file.read().split("\0")

    def end(self):
        with contextlib.suppress(ProcessLookupError, AttributeError):
            os.kill(self.main, signal.SIGTERM)


@pytest.fixture
def service(tmp_path):
    with contextlib.ExitStack() as stack:
        yield Service(tmp_path, stack)


def test_control_processes_may_say_which_process_is_the_main_one():
    """sd_notify(3)'s MAINPID comes from a process of ExecReload (systemd.service(5))."""
    assert re.search("^NotifyAccess=exec$", UNIT, re.M)
    assert not re.search("^Delegate=", UNIT, re.M)  # it would be in another control group


def test_a_program_with_a_name_that_takes_no_sighup_is_upgraded(service):
    service.start("--keep x", QUIET)
    for program in QUIET, QUIET.replace("10", "20"):
        old = service.main
        status, said = service.reload("--keep x", program)
        assert status == 0 and f"has taken over from {old}" in said, said
        assert service.main != old
        assert f"MAINPID={service.main}" in service.manager.heard
        wait_until(lambda: service.process.read() and (
            service.process.process.poll() is not None if old == service.process.pid
            else not os.path.exists(f"/proc/{old}/exe")), "the old one's end")
        service.shows_life()
    assert program.split(" ")[-1] in service.command()
    main = service.main
    status, said = service.reload("--keep x", QUIET.replace("Discard", "Nothing"))
    assert status == 1 and "the new process wasn't ready" in said, said
    assert "STOPPING=1" not in service.manager.listen()  # nor the reload as it ends
    assert (service.main, os.path.exists(f"/proc/{main}/exe")) == (main, True)


def test_who_takes_sighup_stays_and_reads_again(service, tmp_path):
    file = tmp_path / "g.yaml"
    file.write_text(GRAPH)
    for options in "", "--keep x":
        service.start(options, f"run {file}")
        main = service.main
        status, said = service.reload(options, f"run {file}")
        assert (status, said) == (0, ""), said
        service.process.wait_for("read again")
        assert "STOPPING=1" not in service.manager.listen()  # by the reload as it ends
        assert service.main == main and not service.process.process.poll()
        # Other options need another process.
        status, said = service.reload(f"{options} --drain 1s", f"run {file}")
        assert status == 0, said
        if not options:
            assert "it has no name (--keep), so restart it" in said
            service.process.wait_for("read again", count=2)
            assert service.main == main
            assert service.process.interrupt() == 0
        else:
            assert service.main != main and "--drain" in service.command()
            service.shows_life()


def test_what_cannot_be_reloaded_is_told_and_runs_on(service):
    service.start("", QUIET)
    status, said = service.reload("", QUIET)
    assert status == 1 and re.fullmatch(
        r"perigee: process \d+ reads no configuration again, and has no name \(--keep\) by "
        r"which another one can take over: restart it\n", said), said
    service.shows_life()
    main = service.main
    service.main = os.getpid()
    status, said = service.reload("", QUIET)
    assert status == 1 and "is no process of Perigee's" in said
    service.main = main
    for words in (["x", "--", "click"], ["1"]):
        result = run(PERIGEE, "upgrade", "--reload", *words)
        assert result.returncode == 2 and "give the id of the process" in result.stderr


def test_another_one_that_stands_by_is_not_taken_for_it(service):
    service.start("--keep x", QUIET)
    with running(PERIGEE, "--keep", "x", "--standby", *QUIET.split(" "),
                 env=service.environment) as other:
        other.wait_for("ready, stands by")
        main, service.main = service.main, other.pid
        status, said = service.reload("--keep x", QUIET)
        service.main = main
        assert status == 1 and "stands by for another one: restart it instead" in said


# The package ------------------------------------------------------------------------

SYSTEMCTL = """
echo "systemctl $*" >>{calls}
case $1 in
list-units) echo "perigee@a.service loaded active running A"
            echo "perigee@b.service loaded active running B"
            echo "perigee@c.service loaded active running C" ;;
show) case $4 in *@a*) echo 1 ;; *@b*) echo 2 ;; *@c*) echo 3 ;; esac ;;
reload) case $2 in *@a*) ln -sf /usr/bin/perigee {proc}/1/exe ;; *) exit 1 ;; esac ;;
esac
"""


@pytest.mark.parametrize("policy, calls", [
    (None, ["systemctl reload perigee@a.service", "systemctl reload perigee@b.service",
            "invoke restart perigee@b.service"]),
    (101, ["policy perigee@a.service reload", "invoke restart perigee@a.service",
           "policy perigee@b.service reload", "invoke restart perigee@b.service"]),
    (104, ["policy perigee@a.service reload", "systemctl reload perigee@a.service",
           "policy perigee@b.service reload", "systemctl reload perigee@b.service",
           "invoke restart perigee@b.service"])])
def test_the_packages_upgrade(tmp_path, policy, calls):
    """Instance a can be reloaded, b can't, c runs the new file already. (What policy-rc.d
    says of restarts is for deb-systemd-invoke to ask.)"""
    proc, log, tools = tmp_path / "proc", tmp_path / "calls", tmp_path / "tools"
    tools.mkdir()
    for pid, exe in (1, "/usr/bin/perigee (deleted)"), (2, "/usr/bin/perigee (deleted)"), \
            (3, "/usr/bin/perigee"):
        (proc / str(pid)).mkdir(parents=True)
        (proc / str(pid) / "exe").symlink_to(exe)

    def provide(name, text):
        (tools / name).write_text("#!/bin/sh\n" + text)
        (tools / name).chmod(0o755)
    provide("systemctl", SYSTEMCTL.format(calls=log, proc=proc))
    provide("deb-systemd-invoke", f'echo "invoke $*" >>{log}\n')
    provide("getent", "exit 0\n")
    if policy:
        provide("policy-rc.d", f'echo "policy $*" >>{log}; exit {policy}\n')
    script = POSTINST.replace("/proc/", f"{proc}/").replace("/usr/sbin/", f"{tools}/").replace(
        "-d /run/systemd/system", f"-d {tmp_path}")

    def configured(*words):
        log.write_text("")
        subprocess.run(["sh", "-c", script, "postinst", "configure", *words], check=True,
                       env={"PATH": f"{tools}:{os.environ['PATH']}"})
        return [line for line in log.read_text().splitlines()
                if not line.startswith(("systemctl list", "systemctl show"))]
    assert configured("") == ["systemctl daemon-reload"]
    assert configured("0.2-1") == ["systemctl daemon-reload", *calls]

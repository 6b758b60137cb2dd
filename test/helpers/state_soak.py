# SPDX-License-Identifier: Apache-2.0
"""Random steps with processes that keep their state under one name: they are killed, upgraded,
taken back, changed while they run, replaced by a standby, started on other numbers of CPUs,
also while memory is full or can't be written. After each step one process runs, its function
goes on (helpers.state_functions), and nothing is left of processes that have ended."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import time

from helpers.command import PERIGEE, wait_until
from kill_kept import used

NAME = "soak"
PATIENCE_S = 90
MEMORY = 64 << 20  # of the file system for what is shared and saved
LEFT = (0, 4096, 60_000, 300_000, 1_000_000, 3_000_000)  # bytes, where it is full


@contextlib.contextmanager
def filled(folder, left):
    """Of the folder's file system so many bytes are left, which it gives."""
    filler = folder / "filler"
    with open(filler, "wb") as file:
        def takes():  # others take some, too
            free = os.statvfs(folder)
            with contextlib.suppress(OSError):
                room = free.f_bavail * free.f_bsize
                os.posix_fallocate(file.fileno(), 0, max(1, room - left))
                return True
        wait_until(takes, "a full file system", PATIENCE_S)
    try:
        yield left
    finally:
        filler.unlink()


class Soak:
    """Whoever runs the function just now. `make(stack, folder, chance)` gives the function:
    its namespace, words(cpus, choice), check(soak), change(soak), and, once one runs,
    connect(soak)."""

    def __init__(self, stack, folder, chance, make):
        self.folder, self.chance, self.mine = folder, chance, []
        self.small = folder / "small"
        self.small.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={MEMORY}", "tmpfs", self.small],
                       check=True)
        stack.callback(lambda: subprocess.run(["umount", "-l", self.small], check=False))
        self.shm = self.small / "shm"
        self.environment = {**os.environ, "SNABB_SHM_ROOT": str(self.shm)}
        self.log = stack.enter_context(open(folder / "log", "ab"))
        self.function = make(stack, self.small, chance)
        stack.callback(self.end)
        self.start()
        self.runner()
        self.function.connect(self)

    def words(self, *words):
        return self.function.namespace.command(str(PERIGEE), *map(str, words))

    def spawn(self, *words):
        process = subprocess.Popen(words, env=self.environment, stdout=self.log,
                                   stderr=self.log, stdin=subprocess.DEVNULL)
        self.mine.append(process)
        return process

    def started_by(self):
        """The words that start the function."""
        cpus = self.chance.choice(self.function.CPUS)
        return self.words(*(["--cpus", cpus] if cpus else []), "--keep", NAME, "--standby",
                          *self.function.words())

    def start(self):
        return self.spawn(*self.started_by())

    def run(self, *words):
        for process in self.mine:
            process.poll()
        return subprocess.run(self.words(*words), env=self.environment, capture_output=True,
                              text=True, timeout=PATIENCE_S)

    def processes(self):
        """Those that run, and those that stand by: process ids."""
        said = self.run("ps").stdout
        lines = re.findall(r"^(\d+) +(\S.*)$", said, re.M)
        waiting = [int(pid) for pid, line in lines if f"standby of {NAME}" in line]
        return [int(pid) for pid, _ in lines if int(pid) not in waiting], waiting

    def runner(self):
        """The process id of the one that runs."""
        def only():
            runs, _ = self.processes()
            return len(runs) == 1 and runs[0]
        return wait_until(only, lambda: f"one process: {self.run('ps').stdout}", PATIENCE_S)

    # Steps ----------------------------------------------------------------------------

    def kill(self, pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def pause(self, most):
        time.sleep(self.chance.random() ** 2 * most)

    def await_end(self, pids):
        wait_until(lambda: all(used(pid) == float("inf") for pid in pids),
                   f"the end of {pids}", PATIENCE_S)

    def killed_and_started(self):
        self.kill(self.runner())
        self.pause(0.3)
        self.start()

    def ended_and_started(self):
        pid = self.runner()
        os.kill(pid, self.chance.choice([signal.SIGTERM, signal.SIGINT]))
        self.start()
        self.await_end([pid])

    def replaced_by_a_standby(self):
        pid = self.runner()
        self.start()
        wait_until(lambda: self.processes()[1], "a standby", PATIENCE_S)
        self.kill(pid)

    def standby_killed(self):
        before = self.runner()
        standby = self.start()
        self.pause(1.5)
        self.kill(standby.pid)
        assert self.runner() == before

    def upgrade(self, *words):
        return self.spawn(*self.words("upgrade", *words))

    def upgraded(self):
        words = self.chance.choice([[NAME], [NAME], ["--back", NAME]])
        self.upgrade(*words).wait(PATIENCE_S)

    def upgraded_with_kills(self):
        """One or two of the old one, the new one and the command are killed, but not both
        the old and the new one."""
        old = self.runner()
        command = self.upgrade(NAME)
        self.pause(2)
        runs, waiting = self.processes()
        new = [pid for pid in runs + waiting if pid != old]
        victims = {"command": [command.pid], "new": new, "old": [old],
                   "both": [command.pid, *new], "older": [command.pid, old]}
        what = self.chance.choice(list(victims))
        for pid in victims[what]:
            self.kill(pid)
        self.await_end(victims[what])
        command.wait(PATIENCE_S)
        self.await_upgrades_end()
        if not sum(self.processes(), []):  # the upgrade was over, or no new one had begun
            self.start()
            return what + ", and started"
        return what

    def await_upgrades_end(self):
        under_way = self.shm / f"keep/.{NAME}.upgrade"
        wait_until(lambda: not under_way.exists(), "the upgrade's end", PATIENCE_S)

    def changed(self):
        return self.function.change(self)

    def changed_while_upgraded(self):
        """Which of both takes the change is chance; the configuration's file counts."""
        command = self.upgrade(NAME)
        self.pause(1.5)
        what = self.function.change(self, sure=False)
        command.wait(PATIENCE_S)
        self.runner()
        return what

    def changed_before_a_standby_takes_over(self):
        """It has read the configuration before: what the other one runs now counts."""
        pid = self.runner()
        self.start()
        wait_until(lambda: self.processes()[1], "a standby", PATIENCE_S)
        what = self.function.change(self)
        self.function.check(self)
        self.kill(pid)
        return what

    def full(self):
        """Of the small file system so many bytes are left, which it gives."""
        return filled(self.small, self.chance.choice(LEFT))

    def upgraded_while_full(self):
        old = self.runner()
        with self.full() as left:
            command = self.upgrade(NAME)
            status = command.wait(PATIENCE_S)
        if status != 0:
            assert self.runner() == old or self.start_again_was_said(), \
                "the upgrade failed, and the old process is gone"
        return f"{left} bytes left, status {status}"

    def start_again_was_said(self):
        return "what ran before is started again" in self.said

    def started_while_full(self):
        self.kill(self.runner())
        with self.full() as left:
            new = self.start()
            self.wait_for_start(new)
            self.pause(1)
            runs = wait_until(lambda: new.poll() is not None or self.processes()[0],
                              "a start or an end", PATIENCE_S)
        status = new.poll()
        assert runs and status not in (0, -signal.SIGSEGV, -signal.SIGBUS), status
        if status is not None:
            self.start()
        return f"{left} bytes left, status {status}"

    def wait_for_start(self, process):
        """It runs, or has ended."""
        wait_until(lambda: process.poll() is not None
                   or f"\n{process.pid} " in "\n" + self.run("ps").stdout
                   or (self.shm / str(process.pid)).exists(),
                   "a start", PATIENCE_S)

    def upgraded_while_read_only(self):
        """The command, and so the new process, can't write where state is."""
        old, keep = self.runner(), self.shm / "keep"
        command = self.spawn("unshare", "--mount", "sh", "-c",
                             f"mount --bind {keep} {keep} && mount -o remount,bind,ro {keep} "
                             '&& exec "$@"', "sh", *self.words("upgrade", NAME))
        status = command.wait(PATIENCE_S)
        assert status not in (0, -signal.SIGSEGV, -signal.SIGBUS), status
        assert self.runner() == old, "the old one doesn't run on"

    # After each step ------------------------------------------------------------------

    def check(self):
        pid = self.runner()
        self.function.check(self)
        assert self.runner() == pid
        wait_until(lambda: not self.left(pid), lambda: self.left(pid), PATIENCE_S)
        checked = self.run("keep", "check", NAME)
        assert checked.returncode == 0, checked.stdout + checked.stderr
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return {"cpus": 2 if b"--cpus" in words else 1, "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
                "MB": int(re.search(r"VmRSS:\s+(\d+)", status)[1]) >> 10}

    def left(self, pid):
        """What is left of processes that have ended."""
        runs, waiting = self.processes()
        names = {path.name for path in (self.shm / "keep").iterdir()}
        # (A socket of one that was killed goes when the next process begins.)
        bad = [one for one in names - {NAME, f".{NAME}.before"}
               if not re.fullmatch(rf"\.{NAME}\.\d+\.passed", one)]
        folders = {int(path.name) for path in self.shm.iterdir() if path.name.isdigit()}
        dead = [one for one in folders if not os.path.exists(f"/proc/{one}")]
        return [*bad, *([f"folders of {dead}"] if len(dead) > 2 else []),
                *([f"{runs} run"] if runs != [pid] else []),
                *([f"{waiting} wait"] if waiting else [])]

    @property
    def all_said(self):
        return (self.folder / "log").read_text(errors="replace")

    @property
    def said(self):
        return self.all_said[-3000:]

    def turn(self):
        before = len(self.all_said)
        step = self.chance.choice([
            self.killed_and_started, self.ended_and_started, self.replaced_by_a_standby,
            self.standby_killed, self.upgraded, self.upgraded_with_kills,
            self.upgraded_with_kills, self.changed, self.changed, self.changed_while_upgraded,
            self.changed_before_a_standby_takes_over,
            self.upgraded_while_full, self.started_while_full, self.upgraded_while_read_only])
        self.last = step.__name__
        self.log.write(f"---- {self.last}\n".encode())
        self.log.flush()
        self.last = f"{step.__name__} {step() or ''}"
        self.runner()
        self.await_kept(before)
        return self.check()

    def await_kept(self, before):
        """What had no room is kept soon after there is some (but of processes that failed)."""
        def all_is_kept():
            said = self.all_said[before:]
            return said.count("isn't kept: ") <= said.count("is kept from now on")
        with contextlib.suppress(AssertionError):
            wait_until(all_is_kept, "all to be kept", 5)

    def end(self):
        with contextlib.suppress(subprocess.SubprocessError, OSError):
            for pid in sum(self.processes(), []):
                self.kill(pid)
        for process in self.mine:
            process.kill()
            process.wait()

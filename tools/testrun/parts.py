# SPDX-License-Identifier: Apache-2.0
"""The parts of a test run: processes that run side by side, each with a limit, whose output
is kept, and shown in order."""

import os
import signal
import subprocess
import sys
import time

import clock

POLL_S = 0.1
GRACE_S = 5  # from SIGINT to SIGKILL


class Part:
    """A command that runs in the background; its output goes to a file. `limit` is a clock
    and at how many of its seconds the command is interrupted."""

    def __init__(self, name, command, log, limit, as_root=(), env=None,
                 grace=GRACE_S):
        self.name, self.log, self.as_root = name, log, list(as_root)
        self.clock, self.limit = limit
        self.grace = grace
        self.shown, self.cut_off, self.status, self.below = 0, None, None, {}
        self.began, self.wall, self.cpu = time.monotonic(), 0.0, 0.0
        with open(log, "wb") as out:
            self.process = subprocess.Popen(
                [*self.as_root, *map(str, command)], stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, env=env)

    def look(self):
        """Note its end, or see to it when its time is up; is it at an end?"""
        if self.status is None:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            self.wall = time.monotonic() - self.began
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
                self.process.returncode = self.status
                self.cpu = usage.ru_utime + usage.ru_stime
                # What was hung, and has outlived its parent.
                self.send(signal.SIGKILL, [pid for pid, started in self.below.items()
                                           if start_of(pid) == started])
            elif self.cut_off is None and self.clock.tell() >= self.limit:
                self.cut_off = time.monotonic()
                self.interrupt()
            elif self.cut_off and time.monotonic() >= self.cut_off + self.grace:
                self.kill()
        return self.status is not None

    def interrupt(self):
        """Ask it to end, by SIGINT, and remember what it has started."""
        below = clock.descendants(self.process.pid)
        self.below = {pid: started for pid in below if (started := start_of(pid))}
        # sudo doesn't pass on what comes from its own process group.
        pid = next((pid for pid in below if self.as_root and name_of(pid) != "sudo"),
                   self.process.pid)
        self.send(signal.SIGINT, [pid])

    def kill(self):
        """End it and all that it started."""
        self.send(signal.SIGKILL, [*clock.descendants(self.process.pid), self.process.pid])

    def send(self, number, pids):
        if self.as_root and pids:
            subprocess.run([*self.as_root, "kill", f"-{number.value}", *map(str, pids)],
                           stderr=subprocess.DEVNULL, check=False)
            return
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def stop(self):
        """End it now, however long that takes; it may tidy up."""
        if not self.look():
            self.cut_off = time.monotonic()
            self.interrupt()
        while not self.look():
            time.sleep(POLL_S)

    def show(self):
        """Print what it has printed since."""
        with open(self.log, "rb") as log:
            log.seek(self.shown)
            while data := log.read(1 << 16):
                self.shown += len(data)
                sys.stdout.buffer.write(data)
        sys.stdout.flush()

    def end_of(self):
        """How it ended, in words."""
        if self.cut_off:
            return f"were cut off after {self.wall:.0f} s"
        if self.status < 0:
            return f"were ended by {signal.Signals(-self.status).name}"
        return f"ended early, with exit status {self.status}"


def start_of(pid):
    """When the process started, in ticks since boot (proc(5)); None if there is none."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[19]
    except OSError:
        return None


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as comm:
            return comm.read().strip()
    except OSError:
        return None


def finish(some, running):
    """Wait for the end of some of the running parts; show what each of them prints, one
    after the other."""
    for part in some:
        while not part.look():
            part.show()
            for other in running:
                other.look()
            time.sleep(POLL_S)
        part.show()

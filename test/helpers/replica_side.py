# SPDX-License-Identifier: Apache-2.0
"""One of two hosts that are each other's backup, for helpers.replica_soak."""

import contextlib
import os
import re
import signal
import socket
import subprocess

from helpers.command import PERIGEE
from helpers.cut_proxy import CutProxy
from helpers.failover import TOKEN

NAME = "soak"
PATIENCE_S = 90
MEMORY = 96 << 20  # of a host's file system for what is shared


class Side:
    """A host: its shared memory, router and replicator. Others reach it by a proxy."""

    def __init__(self, stack, folder, name):
        self.folder, self.name = folder / name, name
        self.folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={MEMORY}", "tmpfs", self.folder],
                       check=True)
        stack.callback(lambda: subprocess.run(["umount", "-l", self.folder], check=False))
        (folder / f"{name}.token").write_text(TOKEN + "\n")
        (folder / f"{name}.token").chmod(0o600)
        self.shm = self.folder / "shm"
        self.kept = self.shm / "keep" / NAME
        self.environment = {**os.environ, "SNABB_SHM_ROOT": str(self.shm),
                            "PERIGEE_REPLICATE_TOKEN": str(folder / f"{name}.token")}
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.proxy = CutProxy(self.port)
        stack.callback(self.proxy.end)
        self.flows = folder / "flows.click"
        self.log_path = {what: folder / f"{name}.{what}.log" for what in ("router", "replica")}
        self.logs = {what: stack.enter_context(open(path, "ab"))
                     for what, path in self.log_path.items()}
        self.mine, self.current, self.killed = [], {}, set()
        stack.callback(self.end)

    def words(self, what):
        if what == "router":
            return ["--keep", NAME, "--standby", "click", self.flows]
        return ["replicate", NAME, f"127.0.0.1:{self.other.proxy.port}", "--listen",
                f"127.0.0.1:{self.port}", "--interval", "20ms"]

    def spawn(self, log, *words):
        process = subprocess.Popen([str(PERIGEE), *map(str, words)], env=self.environment,
                                   stdin=subprocess.DEVNULL, stdout=self.logs[log],
                                   stderr=self.logs[log])
        self.mine.append(process)
        return process

    def start(self, what):
        self.current[what] = self.spawn(what, *self.words(what))

    def run(self, *words):
        return subprocess.run([str(PERIGEE), *map(str, words)], env=self.environment,
                              capture_output=True, text=True, timeout=PATIENCE_S)

    def said(self, what):
        return self.log_path[what].read_text(errors="replace")

    def notify(self, role):
        done = self.run("notify", NAME, role)
        assert done.returncode == 0, f"{self.name} {role}: {done.stderr}"

    def routers(self):
        """Process ids: those that run, and those that stand by."""
        lines = re.findall(r"^(\d+) +(click\b.*)$", self.run("ps").stdout, re.M)
        waiting = [int(pid) for pid, line in lines if f"standby of {NAME}" in line]
        return [int(pid) for pid, _ in lines if int(pid) not in waiting], waiting

    def tend(self):
        """What has ended is started again, as systemd would."""
        for process in self.mine:
            process.poll()
        self.mine = [process for process in self.mine if process.returncode is None]
        for what in "replica", "router":
            status = self.current[what].poll()
            if status is not None:
                assert what == "router" or self.current[what].pid in self.killed, \
                    f"{self.name}'s replicator ended with {status}"
                if what == "replica" or not sum(self.routers(), []):
                    self.start(what)

    def kill(self, what, number=signal.SIGKILL):
        """The process ids that got the signal."""
        pids = [self.current["replica"].pid] if what == "replica" else self.routers()[0]
        self.killed.update(pids)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        return pids

    def end(self):
        with contextlib.suppress(subprocess.SubprocessError, OSError):
            for pid in sum(self.routers(), []):
                os.kill(pid, signal.SIGKILL)
        for process in self.mine:
            process.kill()
            process.wait()

# SPDX-License-Identifier: Apache-2.0
"""Random steps with two hosts of which one is master, whose flows come and go all the time,
and the other one its backup: processes of both are killed, stopped, upgraded; the connection
is cut, also within a record, held up, spoilt; peers lie; the backup's memory is full; the
backup becomes master, because the master dies or while it runs on. After each step the backup
has what the master has."""

import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

from helpers import kept_files
from helpers.command import wait_until
from helpers.cut_proxy import NOW
from helpers.failover import TOKEN
from helpers.replica_side import NAME, PATIENCE_S, Side
from helpers.state_soak import filled

LEFT = (0, 4096, 60_000, 300_000, 1_000_000)  # bytes, where it is full
SILENCE_S = 5  # src/lib/replica
MOST_TIMES = 5  # that a process says the same in a step
FLOWS = """
FastUDPFlows(3000, -1, 60, 2:2:2:2:2:2, 10.0.0.1, 3:3:3:3:3:3, 10.0.0.2, 9000, 3)
  -> Strip(14) -> CheckIPHeader -> both :: Tee;
both[0] -> nat :: IPRewriter(pattern 192.0.2.1-192.0.2.9 1024-65535 - - 0 1, drop,
                             MAPPING_CAPACITY 6000, UDP_TIMEOUT 60);
nat[0] -> Discard; nat[1] -> Discard; Idle -> [1] nat;
both[1] -> manager :: FlowIPManager(8192, TIMEOUT 4, VERBOSE 0)
  -> FlowIPLoadBalancer(DST 7.0.0.1, DST 7.0.0.2, VIP 9.9.9.9) -> FlowCounter -> Discard;
"""
FATAL = re.compile(r"PANIC|traceback|attempt to|assertion|runtime error|Sanitizer", re.I)
GONE = re.compile(r"here, of which (\d+) are gone|gone, with (\d+) records that it alone")
FORMER = re.compile(r"%20former%20\d+$")
GOES_ON = re.compile(r"goes on with (\d+) of (\d+) records(?:; not used: (.*))?")
FAIR = r"(?:\d+ (?:out of time|above the capacity)(?:, )?)+"


def frame(kind, data):
    return len(data).to_bytes(4, "little") + kind.to_bytes(4, "little") + data


HELLO = frame(1, b'{"perigee": 1, "name": "%s"}' % NAME.encode())


class ReplicaSoak:
    """`master` and `backup` are sides. As helpers.state_soak.Soak for soak_state.py."""

    def __init__(self, stack, folder, chance):
        self.chance, self.last = chance, ""
        (folder / "flows.click").write_text(FLOWS)
        self.sides = [Side(stack, folder, name) for name in "ab"]
        self.master, self.backup = self.sides
        for side, other in (self.sides, reversed(self.sides)):
            side.other = other
        self.master.notify("master")
        self.backup.notify("backup")
        for side in self.sides:
            side.start("replica")
            side.start("router")

    # Waiting --------------------------------------------------------------------------

    def tend(self):
        for side in self.sides:
            side.tend()

    def until(self, condition, what):
        def now():
            self.tend()
            return condition()
        return wait_until(now, what, PATIENCE_S)

    def pause(self, most):
        time.sleep(self.chance.random() ** 2 * most)

    def runner(self):
        """The process that runs on the master."""
        def only():
            runs, _ = self.master.routers()
            return len(runs) == 1 and runs[0]
        return self.until(only, lambda: f"one router: {self.master.run('ps').stdout}")

    @contextlib.contextmanager
    def quiet(self):
        """The master's router stands still, and the backup has all."""
        pid = self.runner()
        os.kill(pid, signal.SIGSTOP)
        try:
            self.until(lambda: not self.differences(), self.differences)
            yield pid
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def differences(self):
        return kept_files.differences(self.master.kept, self.backup.kept)

    def await_progress(self):
        """Nobody holds the master's flows up."""
        before = kept_files.files(self.master.kept)
        self.until(lambda: any(kept_files.difference(before[name], now) for name, now in
                               kept_files.files(self.master.kept).items() if name in before),
                   "flows that come")

    # Steps ----------------------------------------------------------------------------

    def killed(self):
        side, what = self.chance.choice([
            (self.master, "router"), (self.master, "replica"), (self.backup, "replica"),
            (self.backup, "router")])
        number = self.chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM])
        side.kill(what, number)
        self.pause(0.5)
        return f"{what} of {side.name}, {number.name}"

    def both_killed(self):
        for side in self.sides:
            side.kill("replica")
        self.master.kill("router")

    def cut(self):
        """So many times, some after so many bytes, and so within a record."""
        proxy, times = self.backup.proxy, self.chance.randrange(1, 5)
        for _ in range(times):
            how = self.chance.choice(["now", "reset", "after"])
            if how == "after":
                proxy.cut_after(self.chance.randrange(1, 1 << self.chance.randrange(1, 21)))
            else:
                proxy.cut(NOW if how == "reset" else None)
            self.pause(1)
        return times

    def spoilt(self):
        self.backup.proxy.spoil()
        self.pause(1)

    def held_up(self):
        """What is sent doesn't come for a while, or does as who takes it stands still."""
        seconds = self.chance.choice([0.2, 1, SILENCE_S + 1])
        what = self.chance.choice(["network", "sender", "receiver"])
        side = self.master if what == "sender" else self.backup
        if what == "network":
            side.proxy.hold()
        else:
            side.kill("replica", signal.SIGSTOP)
        ends = time.monotonic() + seconds
        self.await_progress()
        time.sleep(max(0, ends - time.monotonic()))
        if what == "network":
            side.proxy.go_on()
        else:
            side.kill("replica", signal.SIGCONT)
        return f"{what}, {seconds} s"

    def strangers(self):
        """Peers without the token, of which some say nothing."""
        side = self.chance.choice(self.sides)
        with contextlib.ExitStack() as stack:
            for _ in range(self.chance.randrange(1, 20)):
                one = stack.enter_context(socket.create_connection(("127.0.0.1", side.port)))
                with contextlib.suppress(OSError):
                    one.sendall(self.chance.randbytes(self.chance.choice([0, 5, 300, 20000])))
            self.pause(1)

    def liars(self):
        """Peers with the token, who say what can't be."""
        texts = {
            "version": frame(1, b'{"perigee": 2, "name": "%s"}' % NAME.encode()),
            "name": frame(1, b'{"perigee": 1, "name": "other"}'),
            "no hello": frame(3, bytes(20)), "noise": self.chance.randbytes(500),
            "kind": HELLO + frame(self.chance.randrange(9, 2**32), b""),
            "long": HELLO + b"\xff" * 8,
            "file": HELLO + frame(2, self.chance.randbytes(60)),
            "json": HELLO + frame(2, bytes(4) + (2).to_bytes(4, "little") + b"{}"),
            "records": HELLO + frame(3, self.chance.randbytes(100)),
            "cut": HELLO + frame(2, bytes(1000))[:500],
            "sweep": HELLO + frame(6, bytes(8))}
        what = self.chance.choice(list(texts))
        client = subprocess.Popen(
            ["openssl", "s_client", "-quiet", "-connect", f"127.0.0.1:{self.backup.port}",
             "-tls1_2", "-psk_identity", "perigee", "-psk", TOKEN.encode().hex(), "-cipher",
             "ECDHE-PSK-CHACHA20-POLY1305"], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with contextlib.suppress(BrokenPipeError):
            client.stdin.write(texts[what])
            client.stdin.flush()
        self.pause(2)
        client.kill()
        client.communicate()
        return what

    def full(self):
        """No room on the backup as all is sent again, or while changes come."""
        with filled(self.backup.folder, self.chance.choice(LEFT)) as left:
            if self.chance.random() < 0.7:
                self.backup.proxy.cut()
            time.sleep(self.chance.choice([0.5, 2]))
        return f"{left} bytes left"

    def full_master(self):
        with filled(self.master.folder, self.chance.choice(LEFT)) as left:
            self.pause(2)
            self.master.kill(self.chance.choice(["replica", "router"]))
            time.sleep(1)
        return f"{left} bytes left"

    def upgraded(self):
        done = self.master.run("upgrade", *self.chance.choice([[NAME], ["--back", NAME]]))
        return f"status {done.returncode}"

    def change_roles(self):
        self.master, self.backup = self.backup, self.master

    def dies(self):
        """The master's host dies, and comes again, with what it had or without."""
        with self.quiet():
            held = kept_files.files(self.backup.kept)
            for what in "replica", "router":
                self.master.kill(what)
        before = len(self.backup.said("router"))
        self.backup.notify("master")

        def found():
            return GOES_ON.findall(self.backup.said("router")[before:])
        wait_until(lambda: len(found()) == len(held), lambda: (
            f"{len(held)} files to go on with: {self.backup.said('router')[before:]}"),
            PATIENCE_S)
        had = sorted(len(file.records) for file in held.values())
        assert sorted(int(total) for _, total, _ in found()) == had, (found(), had)
        for used, total, reasons in found():
            assert not reasons or re.fullmatch(FAIR, reasons), reasons
        self.change_roles()
        boots, late = self.chance.random() < 0.5, self.chance.random() < 0.5
        if boots:
            wait_until(lambda: not sum(self.backup.routers(), []), "its end", PATIENCE_S)
            subprocess.run(["rm", "-rf", self.backup.shm], check=True)
        if late:
            self.tend()
            self.pause(1)
        self.backup.notify("backup")
        return f"booted {boots}, told late {late}"

    def two_masters(self):
        """The one that gives way says how many records it alone had."""
        splits = [side.said("replica").count("two hosts are master") for side in self.sides]
        self.backup.notify("master")
        for side, n in zip(self.sides, splits):
            self.until(lambda: side.said("replica").count("two hosts are master") > n,
                       lambda: f"a word on {side.name}: {side.said('replica')[-2000:]}")
        self.until(lambda: all(len(side.routers()[0]) == 1 for side in self.sides),
                   "two routers")
        self.pause(2)
        if self.chance.random() < 0.5:
            self.change_roles()
        self.give_way()

    def give_way(self):
        """The side self.backup does. Meanwhile nothing comes, so that one can count."""
        pid, before = self.runner(), len(self.backup.said("replica"))
        os.kill(pid, signal.SIGSTOP)
        try:
            self.backup.proxy.hold()
            self.backup.notify("backup")
            wait_until(lambda: not self.backup.routers()[0], "an end", PATIENCE_S)
            had = kept_files.files(self.backup.kept)
            self.backup.proxy.go_on()
            has = kept_files.files(self.master.kept)
            self.until(lambda: not self.differences(), self.differences)
        finally:
            self.backup.proxy.go_on()
            os.kill(pid, signal.SIGCONT)
        due = sorted(filter(None, (gone(name, file, has) for name, file in had.items())))
        said = sorted(int(n or m) for n, m in GONE.findall(self.backup.said("replica")[before:]))
        assert said == due, f"{due} are gone, and {said} were said to be"

    # After each step ------------------------------------------------------------------

    def check(self):
        with self.quiet():
            for side in self.sides:
                done = side.run("keep", "check", NAME)
                assert done.returncode == 0, done.stdout + done.stderr
                left = {path.name for path in side.kept.iterdir() if path.name[0] == "."}
                assert left <= {".hints", ".holder", ".taken"}, left
        self.until(lambda: [len(each) for side in (self.master, self.backup)
                            for each in side.routers()] == [1, 0, 0, 1],
                   lambda: [side.run("ps").stdout for side in self.sides])
        pids = [side.current["replica"].pid for side in self.sides]
        return {"cpus": 1, "descriptors": max(map(descriptors, pids)),
                "MB": max(map(resident, pids))}

    def repeated(self, before):
        """Sentences that a process says again and again."""
        for side in self.sides:
            for what, n in before[side.name].items():
                lines = side.said(what)[n:].splitlines()
                assert not FATAL.search("\n".join(lines)), "\n".join(lines)
                for line in set(lines):
                    if re.search(r"refuse|isn't let in|can't|no room", line):
                        assert lines.count(line) <= MOST_TIMES, \
                            f"{lines.count(line)} times on {side.name}: {line}"

    def sizes(self):
        return {side.name: {what: len(side.said(what)) for what in side.logs}
                for side in self.sides}

    @property
    def said(self):
        return "\n".join(f"{side.name} {what}: {side.said(what)[-1500:]}"
                         for side in self.sides for what in side.logs)

    def turn(self):
        before = self.sizes()
        step = self.chance.choice([
            self.killed, self.killed, self.both_killed, self.cut, self.cut, self.spoilt,
            self.held_up, self.strangers, self.liars, self.full, self.full_master,
            self.upgraded, self.dies, self.two_masters])
        self.last = step.__name__  # for who asks if it fails
        self.last = f"{step.__name__} {step() or ''}"
        found = self.check()
        self.repeated(before)
        return found


def gone(name, file, master):
    """How many records of a backup's file the master's files of that item haven't."""
    there = {one[0] for each, has in master.items() for one in has.records.values()
             if FORMER.sub("", each) == FORMER.sub("", name)}
    return sum(one[0] not in there for one in file.records.values())


def descriptors(pid):
    """How many, but those of files that there are: as many as records are kept in."""
    n = 0
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            to = os.readlink(link)
            n += "/keep/" not in to or to.endswith("(deleted)")
    return n


def resident(pid):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) >> 10

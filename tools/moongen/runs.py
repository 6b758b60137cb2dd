# SPDX-License-Identifier: Apache-2.0
"""One script of a checkout: running it, and what its check asks of what it left."""

import pathlib
import re
import signal
import struct
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test"))

from scapy.all import IP, TCP, UDP, Ether, Raw, wrpcap  # noqa: E402

from helpers import capture  # noqa: E402
from helpers.command import running, wait_until  # noqa: E402

RING = ["ring:moongentests", "ring:moongentests"]
SLOWNESS = 3  # so many times as long as DPDK a script may take until its tasks run
END_SECONDS = 60
CATCH_UP_S, SHORTEST_S, WINDOW = 0.09, 1, 32


class Failed(Exception):
    pass


class Skipped(Exception):
    """This machine can't: why."""


def expect(condition, what):
    if not condition:
        raise Failed(what)


class Run:
    """One script: its ports, and what it said."""

    def __init__(self, folder, libmoon, moongen):
        self.folder, self.libmoon, self.moongen = folder, libmoon, moongen
        self.said = ""
        self.scripts = set()

    def file(self, path):
        """A script of a checkout, `libmoon/...` or `moongen/...`."""
        self.scripts.add(path)
        where, _, name = path.partition("/")
        return (self.libmoon if where == "libmoon" else self.moongen) / name

    def command(self, script, *args, ports=(), trees=()):
        """The words that run the script, a path, with these ports as devices."""
        words = [ROOT / "perigee", "moongen"]
        for i, port in enumerate(ports):
            words += ["--port", f"{i}={port}"]
        for tree in trees:
            words += ["--tree", tree]
        return [str(word) for word in (*words, script, *args)]

    def script(self, path, *args, **kwargs):
        """Run a script of a checkout, as `run` does."""
        self.run(self.file(path), *args, **kwargs)

    def run(self, script, *args, interrupt=None, until=lambda: True, **kwargs):
        """Run it; `interrupt` so many seconds after it began, but not before `until()`.
        Its exit status must be 0."""
        command = self.command(script, *args, **kwargs)
        began = time.monotonic()
        with running(*command, cwd=self.folder) as process:
            if interrupt:
                process.wait_for("usable devices:")
                slow = SLOWNESS * (time.monotonic() - began) # as this machine is now
                process.runs_for(interrupt + slow)
                wait_until(lambda: not process.read() or until(), "what it is to do")
                process.send(signal.SIGINT)
            status = process.finish(END_SECONDS)
        self.said = re.sub(r"\x1b\[[\d;]*m", "", process.said)
        expect(status == 0, f"status {status}: {self.said[-400:]}")

    def has(self, pattern):
        found = re.search(pattern, self.said, re.MULTILINE)
        expect(found, f"it didn't say {pattern!r}: {self.said[-400:]}")
        return found

    def holds(self, packets, *names, more=0):
        """Whether the files hold so many bytes as these packets make, each with `more`."""
        size = 24 + sum(16 + len(packet) + more for packet in packets)
        return lambda: all((self.folder / name).exists()
                           and (self.folder / name).stat().st_size >= size
                           for name in names)

    def has_sent(self, n, name, length):
        """Whether the file holds so many packets of that length."""
        return self.holds(n * [bytes(length)], name)

    def packets(self, name):
        return list(capture.load(self.folder / name))

    def records(self, name):
        """Of the file: when each packet was sent, in seconds, and the packet."""
        data, at = (self.folder / name).read_bytes(), 24
        fraction = 1e-9 if data[:4] == struct.pack("=I", capture.NANOSECONDS) else 1e-6
        while at < len(data):
            seconds, part, length = struct.unpack_from("=III", data, at)
            yield seconds + part * fraction, data[at + 16:at + 16 + length]
            at += 16 + length

    def times(self, name):
        return [time for time, _ in self.records(name)]

    def traffic(self, n=300):
        """A file of UDP packets, to ports 53 and 1234."""
        made = [Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
                / IP(src=f"10.0.0.{i % 50 + 1}", dst="10.1.0.1")
                / UDP(sport=1000 + i % 50, dport=1234 if i % 3 == 0 else 53)
                / Raw(bytes(20 + i)) for i in range(n)]
        wrpcap(str(self.folder / "in.pcap"), made)
        return [bytes(p) for p in made]


def on_time(times, asked):
    """The packets that a sender paced to about `asked` a second sent when they were due:
    those at the end of so many that took about as long as they should. It catches up
    faster, after a pause in which it had no CPU."""
    span = WINDOW / asked
    return [i for i in range(WINDOW, len(times))
            if span / 1.25 < times[i] - times[i - WINDOW] < span * 1.25]


def rate(times, asked):
    """Packets a second of a sender paced to about `asked`, from when each was sent. Pauses
    are made up for (src/net/rate/pacer.c: up to 0.1 s), so what it sent between two packets
    on time is what was due then, unless they are farther apart."""
    packets = seconds = 0
    due = on_time(times, asked)
    for first, last in zip(due, due[1:]):
        if times[last] - times[first] < CATCH_UP_S:
            packets += last - first
            seconds += times[last] - times[first]
    expect(seconds > SHORTEST_S, f"{len(times)} packets were sent, "
           f"for {seconds:.3g} s without pauses that aren't made up for")
    return packets / seconds


def good_checksums(packet):
    copy = Ether(packet)
    for layer in (IP, UDP, TCP):
        if layer in copy:
            del copy[layer].chksum
    return bytes(copy) == packet


TESTS = {}


def test(function):
    TESTS[function.__name__] = function
    return function

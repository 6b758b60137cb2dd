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
from helpers.command import running  # noqa: E402

RING = ["ring:moongentests", "ring:moongentests"]
SLOWNESS = 3  # so many times as long as DPDK a script may take until its tasks run
END_SECONDS = 60
CATCH_UP_S = 0.1  # so late a sender may be, and still keep the time of what follows


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

    def run(self, script, *args, interrupt=None, **kwargs):
        """Run it; `interrupt` so many seconds after it began. Its exit status must be 0."""
        command = self.command(script, *args, **kwargs)
        began = time.monotonic()
        with running(*command, cwd=self.folder) as process:
            if interrupt:
                process.wait_for("usable devices:")
                slow = SLOWNESS * (time.monotonic() - began) # as this machine is now
                process.runs_for(interrupt + slow)
                process.send(signal.SIGINT)
            status = process.finish(END_SECONDS)
        self.said = re.sub(r"\x1b\[[\d;]*m", "", process.said)
        expect(status == 0, f"status {status}: {self.said[-400:]}")

    def has(self, pattern):
        found = re.search(pattern, self.said, re.MULTILINE)
        expect(found, f"it didn't say {pattern!r}: {self.said[-400:]}")
        return found

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


def rate(times):
    """Packets a second of a sender, from when each was sent. Without the gaps in which
    the machine gave it no CPU for so long that it didn't make up for them."""
    gaps = [b - a for a, b in zip(times, times[1:])]
    kept = [gap for gap in gaps if gap < CATCH_UP_S]
    expect(sum(kept) > 1, f"only {len(times)} packets in {sum(kept)} s were sent in time")
    return len(kept) / sum(kept)


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

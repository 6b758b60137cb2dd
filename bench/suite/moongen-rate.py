# SPDX-License-Identifier: Apache-2.0
"""How exact the rates of libmoon's scripts are

Packets are sent evenly, 10,000, 100,000 and a million a second, and with exponentially
distributed gaps, into a capture file that has their times. It says what this machine did
beside what else ran: times in microseconds, the share of gaps that are within two of what
was asked, and the mean rate's error. "a loop" is that share for a loop in C that does
nothing but wait, run right after: more isn't to be had from a busy machine.
"""
import pathlib
import statistics
import struct
import tempfile

from suite import measure

SCRIPT = measure.ROOT / "examples" / "moongen" / "rate.lua"
MPPS = (0.01, 0.1, 1)
CLOSE_NS = 2000
FORM = "{:<20} {:>9} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}"


def times(path):
    """Of the packets in a file, in nanoseconds."""
    data = path.read_bytes()
    assert struct.unpack_from("=I", data)[0] == 0xA1B23C4D
    offset, found = 24, []
    while offset < len(data):
        seconds, nanoseconds, length = struct.unpack_from("=III", data, offset)
        found.append(seconds * 10**9 + nanoseconds)
        offset += 16 + length
    return found


def sent(directory, mpps, pattern, packets):
    """The gaps between the packets of one run, in nanoseconds."""
    file = pathlib.Path(directory) / "sent.pcap"
    measure.command([measure.PERIGEE, "moongen", "--port", "0=pcap:tx=%s" % file, SCRIPT,
                     "0", "-m", mpps, "-p", pattern, "-n", packets, "-t", 600,
                     "-f", "nil"], 120)
    at = times(file)
    return [b - a for a, b in zip(at, at[1:])]


def of_a_loop(ns, count):
    """The share of a bare loop's gaps that are close."""
    return float(measure.command([measure.ROOT / "build" / "bench" / "gaps", ns, count], 120))


def run(quick, rounds=None):
    seconds = 1 if quick else 5
    measure.build("gaps")
    print(FORM.format("", "mean", "deviation", "5 %", "median", "95 %", "within 2",
                      "a loop", "rate"))
    with tempfile.TemporaryDirectory() as directory:
        for pattern, mpps in [(p, m) for p in ("cbr", "poisson") for m in MPPS]:
            gaps = sorted(sent(directory, mpps, pattern, int(mpps * 1e6 * seconds)))
            n, wanted, mean = len(gaps), 1000 / mpps, statistics.mean(gaps)
            shares = ["", ""]
            if pattern == "cbr":
                close = sum(abs(gap - wanted) <= CLOSE_NS for gap in gaps) / n
                shares = ["%.1f %%" % (100 * share)
                          for share in (close, of_a_loop(wanted, n))]
            print(FORM.format("%s, %g Mpps" % (pattern, mpps), *(
                "%.3f" % (ns / 1000) for ns in (mean, statistics.pstdev(gaps), gaps[n // 20],
                                               gaps[n // 2], gaps[-n // 20])),
                *shares, "%+.3f %%" % (100 * (wanted / mean - 1))))
    return []

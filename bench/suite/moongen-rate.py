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


def close(gaps, ns):
    """The share of the gaps that are."""
    return sum(abs(gap - ns) <= CLOSE_NS for gap in gaps) / len(gaps)


def percent(shares):
    return "%.1f %%" % (100 * statistics.median(shares))


def of_pattern(directory, pattern, mpps, packets, rounds):
    """A row: what the script sent in all rounds, and how even the loop was."""
    gaps, mine, loops = [], [], []
    wanted = 1000 / mpps
    for _ in range(rounds):
        some = sent(directory, mpps, pattern, packets)
        gaps += some
        if pattern == "cbr":
            mine.append(close(some, wanted))
            loops.append(of_a_loop(wanted, len(some)))
    gaps.sort()
    n, mean = len(gaps), statistics.fmean(gaps)
    us = (mean, statistics.pstdev(gaps, mean), gaps[n // 20], gaps[n // 2], gaps[-n // 20])
    shares = [percent(mine), percent(loops)] if mine else ["", ""]
    return FORM.format("%s, %g Mpps" % (pattern, mpps), *("%.3f" % (ns / 1000) for ns in us),
                       *shares, "%+.3f %%" % (100 * (wanted / mean - 1)))


def run(quick, rounds=None):
    seconds = 1 if quick else 2
    rounds = rounds or (1 if quick else 5)
    measure.build("gaps")
    print(FORM.format("", "mean", "deviation", "5 %", "median", "95 %", "within 2",
                      "a loop", "rate"))
    with tempfile.TemporaryDirectory() as directory:
        for pattern, mpps in [(p, m) for p in ("cbr", "poisson") for m in MPPS]:
            print(of_pattern(directory, pattern, mpps, int(mpps * 1e6 * seconds), rounds),
                  flush=True)
    return []

# SPDX-License-Identifier: Apache-2.0
"""Latency through ten fused apps at 10, 50 and 80 % of capacity, beside a loop in C

Packets come at a rate to a port, each with the time when it was due; ten apps swap their
addresses; the time from when each was due until it is sent is counted. What waits while
the program, or the kernel, does something else counts. The reference is a loop in C with
the same burst, ten functions called by pointer for each burst, at the same rate, in turn
on the same CPU. The capacity is Perigee's own, or C's if that is less. At 50 % traffic also
goes up and down by 80 % every 10 ms; a scraper asks for metrics four times a second, next
to `perigee top`; the graph is configured anew once a second; and the first second of a
process is looked at, in which LuaJIT compiles. The figures are nanoseconds, not cycles.
"""
import contextlib
import os
import socket
import statistics
import subprocess
import tempfile
import threading

from suite import measure

APPS = 10
DEVICE = "--vdev=net_null_pg0,size=60,no-rx=1"
PARTS = ("half", "99 %", "99.9 %", "99.99 %", "longest")
LIMITS = {"99.9 %": 1.3, "99.99 %": 2}
SWING = 0.8
SCRAPES_A_SECOND = 4


def result(text):
    """Packets a second of CPU time, and the nanoseconds of PARTS."""
    packets, seconds, _, *times = map(float, text.split())
    if len(times) != len(PARTS):
        raise measure.Failed("it printed %s" % text.strip())
    return packets / seconds, times


def perigee(rate, seconds, swing=0, warm_up=2, changes=0, options=()):
    folder = measure.ROOT / "build" / "bench"
    return result(measure.command(
        [measure.PERIGEE, *options, "--eal", DEVICE, "run",
         measure.ROOT / "bench" / "lua" / "latency.lua", folder / "latency.so", rate, swing,
         APPS, warm_up, changes, seconds], 60 + seconds * 2))


def in_c(rate, seconds, swing=0):
    return result(measure.command(
        [measure.ROOT / "build" / "bench" / "latency", rate, swing, APPS, measure.BURST,
         seconds, *measure.eal_arguments()], 60 + seconds * 2))


def scrape(path, over):
    while not over.wait(1 / SCRAPES_A_SECOND):
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as s:
            s.settimeout(1)
            s.connect(path)
            s.sendall(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")
            while s.recv(65536):
                pass


def observed(rate, seconds):
    """With a scraper, and `perigee top`, on another CPU where there is one."""
    mine = os.sched_getaffinity(0)
    others = set(range(os.cpu_count())) - mine or mine
    over = threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/metrics"

        def elsewhere():
            os.sched_setaffinity(0, others)
            scrape(path, over)

        asks = threading.Thread(target=elsewhere)
        top = subprocess.Popen(["taskset", "-c", ",".join(map(str, others)),
                                str(measure.PERIGEE), "top"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        asks.start()
        try:
            return perigee(rate, seconds, options=["--metrics", "unix:" + path])
        finally:
            over.set()
            asks.join()
            top.terminate()
            top.wait()


def rows(what, mine, other, limits):
    return [measure.row("%s: %s" % (what, part), [times[i] for _, times in mine],
                        [times[i] for _, times in other], limits.get(part))
            for i, part in enumerate(PARTS)]


def run(quick, rounds=None):
    measure.build("latency", "latency.so")
    measure.pin()
    seconds = 0.5 if quick else 20
    rounds = rounds or (1 if quick else 3)
    full = measure.in_turn(3, {"perigee": lambda: perigee(0, 0.5),
                               "c": lambda: in_c(0, 0.5)})
    capacity = min(statistics.median(rate for rate, _ in full[who]) for who in full)
    made = []
    for percent in (10, 50, 80):
        rate = capacity * percent / 100
        cases = {"perigee": lambda: perigee(rate, seconds), "c": lambda: in_c(rate, seconds)}
        if percent == 50:
            cases |= {
                "swing": lambda: perigee(rate, seconds, SWING),
                "swing in c": lambda: in_c(rate, seconds, SWING),
                "observed": lambda: observed(rate, seconds),
                "changed": lambda: perigee(rate, max(seconds, 1), changes=1),
                "first": lambda: perigee(rate, 1, warm_up=0),
                "first in c": lambda: in_c(rate, 1)}
        got = measure.in_turn(rounds, cases)
        made += rows("%d %%, %.2f Mpps" % (percent, rate / 1e6), got["perigee"], got["c"],
                     LIMITS)
        if percent == 50:
            made += rows("50 %, up and down", got["swing"], got["swing in c"], {})
            made += rows("50 %, metrics and top", got["observed"], got["c"], {})
            made += rows("50 %, configured each second", got["changed"], got["c"], {})
            made += rows("50 %, the first second", got["first"], got["first in c"], {})
    return made

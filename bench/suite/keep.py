# SPDX-License-Identifier: Apache-2.0
"""What keeping state (--keep) costs, beside the same table in plain memory

Two tables of net/flow, one of them in a kept file, take turns in one process: bursts of 64
random flows are found, and are as new again; the figures are nanoseconds of CPU time for a
flow. It is all that a table does for a packet, so there is no limit: a whole packet's share
is less. Shared memory is in small pages as a rule, which many flows feel. Then, by their
number, the CPU time that a process takes until it finds a flow of one that was killed, and
until it has all, without packets (ms); and the time to find one in between, or that there
is none (us).
Last, cycles a packet of a NAT with a million flows (bench/run click), of which each packet
is one's, with and without --keep, in turn; and with --keep while another process sends all
changes to a third one, as to another host (perigee replicate), on another CPU if there is one.
"""
import contextlib
import os
import random
import re
import socket
import subprocess
import tempfile

from suite import click, measure, traffic

SIZES = ((1 << 10, "1 k"), (1 << 16, "64 k"), (1 << 20, "1 M"))


def script(*args):
    return [float(word) for word in measure.command(
        [measure.PERIGEE, "run", measure.ROOT / "bench/lua/keep.lua", *args], 300).split()]


NAT = "nat, 1,000,000 flows"


def entries_sent(folder):
    """What the process that has its counters in the folder has sent."""
    said = subprocess.run([measure.PERIGEE, "metrics"], text=True, check=True,
                          env={**os.environ, "SNABB_SHM_ROOT": folder},
                          capture_output=True).stdout
    found = re.findall(r'counter="(?:records|ages)_sent"[^}]*} (\d+)', said) or \
        re.findall(r"(?:records|ages)_sent\S* (\d+)", said)
    return sum(map(int, found))


@contextlib.contextmanager
def replicated(folder, cpus):
    """What is kept in the folder is sent to another one, on the last but one of the CPUs."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = "127.0.0.1:%d" % free.getsockname()[1]
    token = os.path.join(folder, "token")
    with open(os.open(token, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
        file.write("a token of the benchmark\n")

    def start(name, *words):
        place = os.path.join(folder, name)
        os.makedirs(place, 0o700, exist_ok=True)
        keeps = folder if name == "master" else place
        return subprocess.Popen(
            [measure.PERIGEE, "replicate", "nat", *words, "--token", token, "--role", name],
            env={**os.environ, "SNABB_SHM_ROOT": place, "PERIGEE_KEEP_ROOT": keeps},
            stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {sorted(cpus)[-2:][0]}))

    # Each says what it is first.
    with start("backup", "127.0.0.1:1", "--listen", address) as backup:
        try:
            backup.stderr.readline()
            with start("master", address) as master:
                try:
                    for line in master.stderr:
                        if "has all" in line:
                            break
                    else:
                        raise measure.Failed("nothing is replicated")
                    place = os.path.join(folder, "master")
                    before = entries_sent(place)
                    yield
                    sent = entries_sent(place) - before
                    if sent < 100000:  # the figure would be of nothing
                        raise measure.Failed("%d entries were sent" % sent)
                finally:
                    master.kill()
        finally:
            backup.kill()


def nat(quick, rounds, cpus):
    """The rows of a NAT that is kept beside one that isn't, and replicated beside kept."""
    configuration, packets, _ = click.CASES[NAT]
    device = traffic.DEVICE % traffic.write("keep", packets(random.Random(1)))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        os.environ["PERIGEE_KEEP_ROOT"] = folder
        text = os.path.join(folder, "nat.click")
        with open(text, "w") as file:
            file.write(configuration())

        def cycles(*options):
            return measure.script_cycles("click", text, 0.4 if quick else 2,
                                         click.WARM_UPS[NAT], vdev=device,
                                         timeout=300, options=options)

        def sent():
            with replicated(folder, cpus):
                return cycles("--keep", "nat")

        try:
            found = measure.in_turn(rounds, {"kept": lambda: cycles("--keep", "nat"),
                                             "plain": cycles, "sent": sent})
        finally:
            del os.environ["PERIGEE_KEEP_ROOT"]
    return [measure.paired_row(NAT + ", kept beside not", found["kept"], found["plain"]),
            measure.paired_row(NAT + ", replicated beside kept", found["sent"],
                               found["kept"])]


def run(quick, rounds=None):
    measure.build()
    cpus = os.sched_getaffinity(0)
    measure.pin()
    rounds = rounds or (1 if quick else 5)
    rows = []
    for flows, size in SIZES:
        runs = [script("use", flows, 0.5 if quick else 3) for _ in range(rounds)]
        rows.append(measure.paired_row("kept beside not, %s flows, ns" % size,
                                       [run[0] for run in runs],
                                       [run[1] for run in runs]))
    runs = {size: [script("go-on", flows) for _ in range(rounds)]
            for flows, size in SIZES + ((1 << 22, "4 M"),)}
    for i, what, scale in ((0, "the first of %s flows, ms", 1e3),
                           (1, "all of %s flows, ms", 1e3),
                           (2, "meanwhile, one of %s flows, us", 1e6),
                           (3, "meanwhile, none of %s flows, us", 1e6)):
        for size, each in runs.items():
            times = [scale * run[i] for run in each]
            rows.append({"name": what % size, "cycles": min(times), "min": min(times),
                         "max": max(times), "reference": None, "ratio": None,
                         "limit": None, "processes": len(times)})
    return rows + nat(quick, rounds, cpus)

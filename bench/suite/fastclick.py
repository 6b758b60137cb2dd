# SPDX-License-Identifier: Apache-2.0
"""Runs a configuration on FastClick, over DPDK's devices of the same kinds.

FASTCLICK_BIN names its program click, built with DPDK. What it takes is CPU time, as of
the others: /proc says how much its thread had between two lines that it prints.
"""
import os
import pathlib
import re
import subprocess
import sys
import threading

from suite import measure

WARM_UP_S = 0.5
PATIENCE_S = 30
NANOSECONDS = 1e9


def binary():
    """FastClick's program, or None."""
    path = os.environ.get("FASTCLICK_BIN")
    if path and not pathlib.Path(path).is_file():
        raise measure.Failed("FASTCLICK_BIN=%s is no file: give FastClick's program click"
                             % path)
    return path


def translate(text, seconds, warm_up=WARM_UP_S):
    """The configuration for FastClick, and its devices beyond port 0.

    A null port is a device of DPDK's, and what comes in is counted twice.
    """
    if "in :: FromDPDKDevice(0" not in text:
        text = text.replace("FromDPDKDevice(0)", "in :: FromDPDKDevice(0)", 1)
    ports = 0

    def number(_):
        nonlocal ports
        ports += 1
        return "ToDPDKDevice(%d)" % ports
    text = re.sub(r'ToDPDKDevice\("null"\)', number, text)
    text += ('DriverManager(wait %gs, print "$(in.count)", wait %gs, print "$(in.count)", '
             "stop);\n" % (warm_up, seconds))
    return text, ["--vdev=net_null%d" % i for i in range(ports)]


def cpu_seconds(process):
    """CPU time of the process's first thread, which runs the graph."""
    path = pathlib.Path("/proc/%d/task/%d/schedstat" % (process.pid, process.pid))
    return int(path.read_text().split()[0]) / NANOSECONDS


def last_line(text):
    """It may say the same a thousand times before."""
    return " ".join(text.strip().splitlines()[-1:])


def samples(process):
    """(packets, CPU seconds) at the two moments."""
    found = []
    while len(found) < 2:
        line = process.stdout.readline()
        if not line:
            raise measure.Failed("FastClick ended with status %s: %s" % (
                process.wait(), last_line(process.stderr.read())))
        if line.strip().isdigit():
            found.append((int(line), cpu_seconds(process)))
    return found


def as_it_is(text):
    """FastClick's program, and a file with the configuration."""
    file = measure.ROOT / "build" / "bench" / "fastclick.click"
    file.write_text(text)
    return binary(), file


def cycles(text, device, seconds, warm_up=WARM_UP_S, program=as_it_is):
    """TSC cycles of CPU time a packet of one run, on the CPU of this process; None if
    that run failed, as they do in some configurations, which is told. `program(text)`
    gives the program and the file to run."""
    try:
        return try_cycles(text, device, seconds, warm_up, program)
    except measure.Failed as failed:
        print("FastClick: %s" % failed, file=sys.stderr)
        return None


def try_cycles(text, device, seconds, warm_up, program):
    text, devices = translate(text, seconds, warm_up)
    executable, file = program(text)
    cpu = max(os.sched_getaffinity(0))
    args = ["stdbuf", "-oL", str(executable), "--dpdk", "-l", str(cpu), "--in-memory", "--no-pci",
            "--log-level", "error", "--vdev=" + device, *devices, "--", str(file)]
    with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        patience = threading.Timer(warm_up + seconds + PATIENCE_S, process.kill)
        patience.start()
        try:
            (before, began), (after, ended) = samples(process)
        finally:
            patience.cancel()
            process.kill()
    if after <= before:
        raise measure.Failed("FastClick received nothing of %s" % device)
    return (ended - began) * measure.hertz() / (after - before)

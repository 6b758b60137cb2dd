# SPDX-License-Identifier: Apache-2.0
"""TCP between two hosts through Perigee's packet ports, against a Linux bridge

Two network namespaces are joined by a third, in which Perigee (two Port apps, linked
both ways) or a bridge forwards; iperf3 sends through it. What is measured is the time
that a kilobyte takes, in TSC cycles: wall time, as three processes share the work. The
last row compares Perigee with itself where the kernel's offloads are turned off, so that
every segment comes by itself. Needs root and iperf3.
"""
import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time

from suite import measure

OFF = [word for offload in ("tx", "tso", "gso", "gro") for word in (offload, "off")]
BRIDGE = measure.ROOT / "test" / "chained_bridge.lua"
FASTER = 0.5  # of the time without offloads, at most


def ip(*words):
    measure.command(["ip", *words], 10)


def inside(name, *words):
    return ["ip", "netns", "exec", name, *words]


@contextlib.contextmanager
def hosts(offloads):
    """Names of three namespaces: a host, one between with `left` and `right`, a host."""
    names = ["perigee-tcp%d%s" % (os.getpid(), label) for label in "amb"]
    a, middle, b = names
    made = []
    try:
        for name in names:
            ip("netns", "add", name)
            made.append(name)
        for host, iface, address in (a, "left", "10.0.0.1/24"), (b, "right", "10.0.0.2/24"):
            ip("-n", middle, "link", "add", iface, "type", "veth", "peer", "name", "net",
               "netns", host)
            ip("-n", host, "address", "add", address, "dev", "net")
            for name, end in (host, "net"), (middle, iface):
                ip("-n", name, "link", "set", end, "up")
                if not offloads:
                    measure.command(inside(name, "ethtool", "-K", end, *OFF), 10)
        yield a, middle, b
    finally:
        for name in made:
            ip("netns", "delete", name)


@contextlib.contextmanager
def perigee(middle):
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            inside(middle, measure.PERIGEE, "run", BRIDGE, "packet:left", "packet:right",
                   "0"), stdout=said, stderr=said)
        try:
            yield
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(20)


@contextlib.contextmanager
def linux(middle):
    ip("-n", middle, "link", "add", "bridge", "type", "bridge")
    for iface in "left", "right":
        ip("-n", middle, "link", "set", iface, "master", "bridge")
    ip("-n", middle, "link", "set", "bridge", "up")
    yield


def wait_for_answer(host):
    for _ in range(20):
        if subprocess.run(inside(host, "ping", "-c1", "-W1", "10.0.0.2"),
                          capture_output=True).returncode == 0:
            return
        time.sleep(0.1)
    raise measure.Failed("no answer through the bridge")


def hertz():
    return float(measure.command([measure.PERIGEE, "snsh", "-e", "print(string.format("
                                  "'%.0f', tonumber(require('core.native').pg_tsc_hz())))"],
                                 20))


def cycles(forwarder, offloads, seconds, hz):
    """TSC cycles a kilobyte received."""
    with hosts(offloads) as (a, middle, b), forwarder(middle):
        wait_for_answer(a)
        server = subprocess.Popen(inside(b, "iperf3", "-s", "-1", "--forceflush"),
                                  stdout=subprocess.PIPE, text=True)
        try:
            while "listening" not in server.stdout.readline():
                pass
            text = measure.command(inside(a, "iperf3", "-c", "10.0.0.2", "-t", seconds,
                                          "--json"), seconds + 20)
        finally:
            server.kill()
            server.communicate()
    received = json.loads(text)["end"]["sum_received"]
    return hz * received["seconds"] / (received["bytes"] / 1000)


def run(quick, rounds=None):
    if os.geteuid() != 0:
        print("not measured: this makes network namespaces, as root")
        return []
    measure.build()
    seconds, hz = 1 if quick else 4, hertz()
    results = measure.in_turn(rounds or (3 if quick else 5), {
        name: lambda f=f, o=o: cycles(f, o, seconds, hz) for name, f, o in (
            ("perigee", perigee, True), ("linux", linux, True),
            ("one by one", perigee, False))})
    return [measure.row("TCP, a kB, against a Linux bridge", results["perigee"],
                        results["linux"]),
            measure.row("TCP, a kB, against no offloads", results["perigee"],
                        results["one by one"], FASTER)]

# SPDX-License-Identifier: Apache-2.0
"""What the kernel drops before a port reads it is in every sum: the port's statistics,
shared memory, `perigee top`, and the last lines of `perigee capture`."""

import json
import signal

import pytest

from helpers.command import PERIGEE, perigee, running, wait_until
from helpers.network import Wire, veth
from helpers.report import port_statistics

COUNT = 20_000  # more than any of the kernel's queues has room for
FRAME = b"\xff" * 12 + b"\x88\xb5" + bytes(46)
SECOND = ["--json", "-i", "200ms"]


@pytest.fixture(params=["packet:left", "xdp:left", "tap:left"])
def port(request):
    return request.param


@pytest.fixture
def started(port, namespace):
    """A function that starts a program which has opened the port; and where frames for
    it are sent."""
    here, there = namespace("p"), namespace("t")
    wire = here, "left"
    if not port.startswith("tap:"):
        veth(here, "left", there, "right", offloads=False)
        wire = there, "right"

    def start(*words):
        return running(*here.command(PERIGEE, *words))
    return start, wire


def counters(program):
    said = perigee("shm", "--json", program.pid).stdout
    return json.loads(said or "{}")


def flood(program, wire):
    """Send frames while the program stands still, and wait until it knows of each."""
    program.wait_for_engine()
    wait_until(lambda: "apps/port/rxdrop" in counters(program), "the port's counters")
    with Wire(*wire) as socket:
        program.send(signal.SIGSTOP)
        for _ in range(COUNT):
            socket.send(FRAME)
        program.send(signal.SIGCONT)

    def known():
        assert program.read(), program.said
        now = counters(program)
        return now["apps/port/rxpackets"] + now["apps/port/rxdrop"] >= COUNT
    wait_until(known, "all packets in the counters")


def test_the_kernels_loss_is_in_the_report_and_in_top(port, started):
    start, wire = started
    with start("echo", port, 1) as program:
        flood(program, wire)
        top = json.loads(perigee("top", *SECOND, program.pid).stdout)
        assert program.interrupt() == 0, program.said
    s = port_statistics(program.said)[port]
    assert 0 < s["ipackets"] < COUNT
    assert s["ipackets"] + s["imissed"] == COUNT, program.said
    dropped = {d["name"]: d["packets"] for d in top[0]["drops"]}
    assert dropped == {"port: rxdrop": s["imissed"]}


def test_the_kernels_loss_is_in_what_capture_says(port, started, tmp_path):
    start, wire = started
    with start("capture", port, tmp_path / "a.pcap") as program:
        flood(program, wire)
        assert program.interrupt() == 0, program.said
    s = counted(program.said)
    assert s["received"] == s["written"] > 0
    assert s["received"] + s["missed"] == COUNT, program.said


def counted(said):
    """The numbers of what capture says."""
    first, *losses = [line for line in said.splitlines() if "written" in line]
    received, written = first.replace(",", "").split()[1:5:3]
    missed = [line.replace(",", "").split()[2] for line in losses
              if line.endswith("missed by the port")]
    return {"received": int(received), "written": int(written),
            "missed": int(missed[0]) if missed else 0}


def test_what_was_dropped_before_a_tap_was_opened_is_not_the_ports(namespace):
    here = namespace()
    here.ip("tuntap", "add", "left", "mode", "tap", "multi_queue")
    with running(*here.command(PERIGEE, "echo", "tap:left", 1)) as first:
        flood(first, (here, "left"))
        assert first.interrupt() == 0, first.said
    assert port_statistics(first.said)["tap:left"]["imissed"] > 0
    second = here.run(PERIGEE, "echo", "tap:left", 1, "300ms")
    assert port_statistics(second.stdout)["tap:left"]["imissed"] == 0, second.stderr

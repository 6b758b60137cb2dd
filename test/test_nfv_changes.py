# SPDX-License-Identifier: Apache-2.0
"""`perigee nfv traffic` goes on: its configuration changes, guests and the switch are
killed."""

import os
import re
import signal
import subprocess

import pytest

from helpers.command import running, wait_until
from helpers.nfv import Bench, numbers, port, stream


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def test_reloads_lose_nothing(bench):
    """Ports, filters, limits and VLANs come and go; a wrong file changes nothing."""
    plain = [port("A"), port("B")]
    others = [
        plain + [port("C", vlan=7)],
        [port("A", vlan=9), port("B", vlan=9), port("D", mac_address="2:0:0:0:0:7")],
        [port("A", egress_filter="ip6"), port("B")],
        [port("A", tx_police=5), port("B", ingress_filter="udp", stateful_filter=True)],
        [port("B", rx_police=5), port("A")],
    ]
    bench.write(*plain)
    bench.send("A", stream(20000))
    with bench.nfv() as nfv:
        nfv.wait_for("nfv traffic:")
        with bench.guests("A", "B", rate=2000) as guests:
            bench.wait_for("B", 100, nfv, guests)
            for i, ports in enumerate([*others, plain, *others]):
                bench.write(*ports)
                nfv.wait_for("read again: ", count=i + 1)
                if i % 4 == 1:
                    bench.config.write_text("return {{port_id = 'A', vlam = 1}}")
                    nfv.wait_for("; the graph stays as it was", count=i // 4 + 1)
            assert len(bench.got("B")) < 20000, "all was over before the last change"
            last = len(bench.got("B"))
            bench.wait_for("B", last + 500, nfv, guests)
            got = numbers(bench.got("B"))
            assert got == list(range(len(got)))
            assert guests.interrupt() == 0, guests.said
        assert nfv.interrupt() == 0, nfv.said
    assert re.search(r"nfv.cfg:1: port 'A' has no key 'vlam'; is 'vlan' meant\?", nfv.said)


@pytest.mark.parametrize("role", ["client", "server"])
def test_guests_and_the_switch_are_killed_and_come_back(bench, role):
    """Whoever made a socket: QEMU (server=on), or Perigee (--server)."""
    bench.write(port("A", vlan=3), port("B", vlan=3))
    options = ["--server"] if role == "client" else []

    def nfv():
        return running(*bench.command("soft", *options))

    def passes(*processes):
        (bench.folder / "B.out.pcap").unlink(missing_ok=True)
        with bench.guests("B", role=role) as b, \
                bench.guests("A", rate=500, role=role) as a:
            got = bench.wait_for("B", 20, a, b, *processes)
            assert numbers(got) == list(range(numbers(got)[0], numbers(got)[-1] + 1))
            assert a.interrupt(signal.SIGKILL) == b.interrupt(signal.SIGKILL)

    bench.send("A", stream(30000))
    with nfv() as first:
        first.wait_for("nfv traffic:")
        passes(first)
        passes(first)
        (bench.folder / "B.out.pcap").unlink()
        with bench.guests("B", role=role) as b, \
                bench.guests("A", rate=500, role=role) as a:
            bench.wait_for("B", 20, a, b, first)
            assert first.interrupt(signal.SIGKILL) == -signal.SIGKILL
            before = len(bench.got("B"))
            with nfv() as second:
                bench.wait_for("B", before + 200, a, b, second)
                assert second.interrupt() == 0, second.said


@pytest.mark.fast
def test_a_signal_comes_before_the_switch_runs(bench):
    """Its standard output, a full pipe, holds it up there."""
    bench.write(port("A"))
    out, pipe = os.pipe()
    os.set_blocking(pipe, False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(pipe, bytes(4096))
    os.set_blocking(pipe, True)
    command = bench.command("soft", "--server")
    with subprocess.Popen(command, stdout=pipe, stderr=subprocess.PIPE) as nfv:
        os.close(pipe)
        try:
            wait_until((bench.folder / "A.sock").exists, "the guest's socket")
            nfv.send_signal(signal.SIGHUP)
            with open(out, "rb") as stdout:
                while not stdout.read1().endswith(b"nfv traffic: %s: 1 port\n"
                                                  % bytes(bench.config)):
                    assert nfv.poll() is None, nfv.stderr.read()
                assert nfv.stderr.readline().endswith(b"read again: 1 port\n")
                nfv.send_signal(signal.SIGINT)
                stdout.read()
            assert nfv.wait() == 0
        finally:
            nfv.kill()

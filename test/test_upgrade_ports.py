# SPDX-License-Identifier: Apache-2.0
"""What `perigee upgrade` does to the packets of each kind of port: numbered ones pass while
another process takes over. None comes twice; those of ports that aren't passed on are lost
in one gap, and how many is told (pytest -rP)."""

import contextlib
import re
import struct
import time

import pytest

from helpers.command import PERIGEE, running, wait_until
from helpers.network import Namespace, Wire, veth
from test_keep import environment  # noqa: F401 (a fixture)
from test_upgrade import ended

HEADER = b"\xff" * 6 + b"\2\0\0\0\0\1" + b"\x88\xb5"
BRIDGE = "FromDPDKDevice(0) -> ToDPDKDevice(1)"
PAUSE_S = 0.001  # between packets

# The port that is upgraded; what another process in front of it has, if it needs a peer.
KINDS = {
    "packet": ("packet:in0", None),
    "xdp": ("xdp:in0", None),
    "memif": ("memif:{}/socket,role=server", "memif:{}/socket,role=client"),
    "vhost": ("vhost:{}/socket", "virtio-user:{}/socket"),
}
PASSED_ON = {"packet", "memif"}


class Numbered:
    """Frames with numbers, from one wire to the other; `came`: those that arrived."""

    def __init__(self, out, come):
        self.out, self.come, self.sent, self.came = out, come, 0, []

    def exchange(self):
        self.out.send(HEADER + struct.pack("!I", self.sent) + bytes(42))
        self.sent += 1
        time.sleep(PAUSE_S)
        while frame := self.come.receive(0.000001):
            if frame.startswith(HEADER):
                self.came.append(struct.unpack_from("!I", frame, len(HEADER))[0])

    def until(self, condition, what):
        def step():
            self.exchange()
            return condition()
        wait_until(step, what)


@pytest.mark.parametrize("kind", KINDS)
def test_numbered_packets(kind, environment, tmp_path, record_property):  # noqa: F811
    port, peer = (text and text.format(tmp_path) for text in KINDS[kind])
    with contextlib.ExitStack() as stack:
        stack.enter_context(ended(environment))
        spaces = [Namespace(name) for name in ("from", "between", "to")]
        for space in spaces:
            stack.callback(space.remove)
        here, between, there = spaces
        veth(here, "eth0", between, "in0", offloads=False)
        veth(there, "eth0", between, "out0", offloads=False)
        between.ip("link", "set", "in0", "promisc", "on")

        def bridge(first, second, *options):
            return stack.enter_context(running(*between.command(
                PERIGEE, *options, "click", "-e", BRIDGE, "--device", f"0={first}",
                "--device", f"1={second}"), env=environment))
        router = bridge(port, "packet:out0", "--keep", "ports")
        router.wait_for_engine()
        if peer:
            bridge("packet:in0", peer).wait_for_engine()
        out, come = (stack.enter_context(Wire(space, "eth0")) for space in (here, there))
        numbered = Numbered(out, come)
        numbered.until(lambda: len(numbered.came) > 10, lambda: f"packets; {router.said}")
        first = numbered.came[-1]
        with running(PERIGEE, "upgrade", "ports", env=environment) as upgrade:
            numbered.until(lambda: upgrade.process.poll() is not None, lambda: upgrade.said)
            upgrade.read()
            router.read()
            assert upgrade.process.returncode == 0, upgrade.said + router.said
            assert re.search(r"process \d+ has taken over from", upgrade.said)
        after = numbered.sent
        numbered.until(lambda: numbered.came[-1] > after + 10, lambda: upgrade.said)
    came = [number for number in numbered.came if number >= first]
    assert came == sorted(set(came)), "one came twice, or behind a later one"
    lost = sorted(set(range(first, came[-1])) - set(came))
    record_property("lost", len(lost))
    print(f"{kind}: {len(lost)} of {came[-1] - first} packets lost, none twice")
    if kind in PASSED_ON:
        assert not lost
    elif lost:
        assert lost == list(range(lost[0], lost[-1] + 1)), "more than one gap"

# SPDX-License-Identifier: Apache-2.0
"""What one number of CPUs has kept (--keep) is there at once for another: each of many flows
is found when its packet comes, before all have been taken over."""

import os
import re
import signal
import struct

import pytest
from scapy.all import IP, UDP, Ether, raw

from helpers import capture
from helpers.command import PERIGEE, running, wait_until

FLOWS = 9000  # beyond 4,096 they wait
IP_ID, SOURCE_PORT = 18, 34  # in a frame
HEAD, EACH = 24, 16 + 42  # bytes of the capture that is written, and of a packet in it
NAT = "IPRewriter(pattern 192.0.2.1 1024-65535 - - 0 0, UDP_TIMEOUT 3000, UDP_GUARANTEE 3000)"
MANAGED = "FlowIPManager(TIMEOUT 3000) -> FlowCounter"
ROUTER = """FromDevice(0) -> Strip(14) -> CheckIPHeader -> flows :: {}
-> EtherEncap(0x0800, 2:0:0:0:0:2, 2:0:0:0:0:3) -> Queue(8192) -> ToDevice(1);"""


@pytest.fixture(scope="module")
def flows(tmp_path_factory):
    """A packet of each flow, whose number is its IP identification."""
    path = tmp_path_factory.mktemp("flows") / "flows.pcap"
    first = bytearray(raw(Ether(dst="02:00:00:00:00:02") / IP(src="10.0.0.1", dst="192.0.2.9")
                          / UDP(sport=1, dport=53)))
    frames = []
    for i in range(FLOWS):
        frame = Ether(bytes(first))
        frame[IP].id, frame[IP].src = i, f"10.0.{i >> 8}.{i & 255}"
        frame[IP].chksum = frame[UDP].chksum = None
        frames.append(raw(frame))
    capture.save(path, frames)
    return path


def ports_of(path):
    """By a flow's number, the port that its packet was given."""
    found = {}
    for frame in capture.load(path):
        number, = struct.unpack_from("!H", frame, IP_ID)
        found[number], = struct.unpack_from("!H", frame, SOURCE_PORT)
    return found


def sums(said):
    """Records used, and records there were, of all lines about them."""
    pairs = re.findall(r"goes on with (\d+) of (\d+) records", said)
    return tuple(sum(int(pair[i]) for pair in pairs) for i in (0, 1))


@pytest.mark.parametrize("elements, more", [(NAT, []), (MANAGED, []), (MANAGED, ["--balance"])],
                         ids=["IPRewriter", "FlowIPManager", "balanced"])
def test_flows_go_on_with_another_number_of_cpus_before_all_are_there(tmp_path, flows,
                                                                      elements, more):
    two = ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0))[:2])
    if "," not in two:
        pytest.skip("needs two CPUs")
    environment = {**os.environ, "SNABB_SHM_ROOT": str(tmp_path / "shm")}
    found = []
    for turn, cpus in enumerate([two, two.split(",")[0], two, two]):
        out = tmp_path / f"{turn}.pcap"
        with running(PERIGEE, "--keep", "nat", *more, "click", "-e", ROUTER.format(elements),
                     "--cpus", cpus, "--device", f"0=pcap:rx={flows}",
                     "--device", f"1=pcap:tx={out}", env=environment) as router:
            wait_until(lambda: out.exists() and out.stat().st_size >= HEAD + FLOWS * EACH,
                       lambda: router.read() and router.said)
            if turn in (1, 2):  # all flows of other copies, in steps beside that
                wait_until(lambda: router.read() is None or sums(router.said)[1] >= FLOWS,
                           lambda: router.said)
                assert sums(router.said) == (FLOWS, FLOWS), router.said
                assert "records while packets flow" in router.said
            router.send(signal.SIGKILL)
            router.finish()
        found.append(ports_of(out))
        assert len(found[-1]) == FLOWS
    assert found[1] == found[2] == found[3] == found[0]

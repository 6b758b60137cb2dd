# SPDX-License-Identifier: Apache-2.0
"""`perigee lwaftr run` with both sides on one interface, with VLAN tags or without, and
with several queues there: frames from Scapy in, and what must come of them out."""

import os

import pytest
from scapy.all import IP, UDP, Dot1Q, Ether, IPv6, rdpcap

from helpers.command import perigee
from helpers.lwaftr import lwaftr
from helpers.network import Namespace, Wire, veth

NAME = f"lwaftr-stick-{os.getpid()}"
HOP4, HOP6 = "02:99:99:99:99:04", "02:99:99:99:99:06"
ONE, TWO, THREE, FOUR = [f"02:aa:aa:aa:aa:0{n}" for n in (1, 2, 3, 4)]
B4, BR, SUBSCRIBER, PEER = "2001:db8::1", "fc00::200", "192.0.2.1", "198.51.100.7"

pytestmark = pytest.mark.skipif(os.geteuid() != 0,
                                reason="namespaces need root")


def queue(number, mac4, mac6, vlan4=None, vlan6=None):
    def vlan(tag):
        return f"vlan-tag {tag};" if tag else ""
    return f"""queue {{ id {number};
      external-interface {{ ip 10.0.1.1; mac {mac4}; {vlan(vlan4)}
        next-hop {{ mac {HOP4}; }} }}
      internal-interface {{ ip fc00::100; mac {mac6}; {vlan(vlan6)}
        next-hop {{ mac {HOP6}; }} }} }}"""


def conf(*queues):
    return f"""softwire-config {{
      binding-table {{ softwire {{ ipv4 {SUBSCRIBER}; psid 0; b4-ipv6 {B4};
        br-address {BR}; port-set {{ psid-length 0; }} }} }}
      instance {{ device stick; {" ".join(queues)} }} }}"""


@pytest.fixture(scope="module")
def router():
    router, other = Namespace("r"), Namespace("o")
    try:
        veth(router, "stick", other, "wire")
        router.router = router
        with Wire(other, "wire") as wire:
            router.wire = wire
            yield router
    finally:
        router.remove()
        other.remove()


def tagged(frame, tag):
    if not tag:
        return frame
    return Ether(dst=frame.dst, src=frame.src) / Dot1Q(vlan=tag) / frame.payload


def through(router, frame):
    """The frame that comes for this one, or None."""
    router.wire.send(bytes(frame))
    return router.wire.receive()


def from_internet(mac, tag=None):
    packet = Ether(dst=mac, src=HOP4) / IP(src=PEER, dst=SUBSCRIBER) / UDP() / b"in"
    return tagged(packet, tag)


def from_b4(mac, tag=None):
    inner = IP(src=SUBSCRIBER, dst=PEER) / UDP() / b"out"
    return tagged(Ether(dst=mac, src=HOP6) / IPv6(src=B4, dst=BR) / inner, tag)


def check(router, mac4, mac6, vlan4=None, vlan6=None):
    """Encapsulated, decapsulated, with these addresses and tags."""
    out = Ether(through(router, from_internet(mac4, vlan4)))
    assert (out.dst, out.src, out[IPv6].dst) == (HOP6, mac6, B4)
    assert (out[Dot1Q].vlan if vlan6 else Dot1Q not in out) in (vlan6, True)
    assert bytes(out[UDP].payload) == b"in"
    out = Ether(through(router, from_b4(mac6, vlan6)))
    assert (out.dst, out.src, out[IP].dst) == (HOP4, mac4, PEER)
    assert (out[Dot1Q].vlan if vlan4 else Dot1Q not in out) in (vlan4, True)
    assert bytes(out[UDP].payload) == b"out"


@pytest.mark.parametrize("side", [(ONE, ONE), (ONE, ONE, 7, 7), (ONE, TWO),
                                  (ONE, TWO, 7, 8)])
def test_has_both_sides_on_one_interface(router, tmp_path, side):
    path = tmp_path / "a.conf"
    path.write_text(conf(queue(0, *side)))
    with lwaftr(router, path, name=NAME):
        check(router, *side)


def test_divides_an_interface_by_addresses_and_adds_queues(router, tmp_path):
    path = tmp_path / "a.conf"
    path.write_text(conf(queue(0, ONE, TWO, 7, 8), queue(1, THREE, FOUR, 7, 8)))
    with lwaftr(router, path, name=NAME):
        check(router, ONE, TWO, 7, 8)
        check(router, THREE, FOUR, 7, 8)
        where = "/softwire-config/instance[device=stick]/queue"
        result = perigee("config", "remove", NAME, where + "[id=0]")
        assert result.returncode == 0, result.stderr
        check(router, THREE, FOUR, 7, 8)
        result = perigee("config", "add", NAME, where,
                         "{" + queue(5, ONE, ONE).split("{", 1)[1])
        assert result.returncode == 0, result.stderr
        check(router, ONE, ONE)
        check(router, THREE, FOUR, 7, 8)


def test_copies_packets_of_one_address(router, tmp_path):
    path, copies = tmp_path / "a.conf", tmp_path / "copies.pcap"
    path.write_text(conf(queue(0, ONE, ONE)))
    with lwaftr(router, path, "--mirror", f"pcap:tx={copies}", name=NAME) as process:
        check(router, ONE, ONE)
        assert perigee("lwaftr", "monitor", SUBSCRIBER, NAME).returncode == 0
        check(router, ONE, ONE)
        process.interrupt()
    assert len(rdpcap(str(copies))) == 4


@pytest.mark.parametrize("queues, said", [
    ([queue(0, ONE, ONE, 7, 8)], "instance 'stick', queue 0: on one interface, an "
     "external and an internal one of different VLANs need different MAC addresses")])
def test_refuses_what_cannot_be(router, tmp_path, queues, said):
    path = tmp_path / "a.conf"
    path.write_text(conf(*queues))
    result = perigee("lwaftr", "run", "-c", path, "--on-a-stick", "null")
    assert result.returncode == 2 and said.replace("stick", "null", 1) in result.stderr

# SPDX-License-Identifier: Apache-2.0
"""The configurations in examples/click, on frames made by Scapy."""

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import ARP, Ether

from helpers.capture import load, save
from helpers.command import ROOT, perigee

FOLDER = ROOT / "examples/click"
NOBODY, ALL = "02:00:00:00:09:09", "ff:ff:ff:ff:ff:ff"


def click(name, *args):
    result = perigee("click", FOLDER / f"{name}.click", *args)
    assert result.returncode == 0, result.stderr
    return result.stdout


def through(tmp_path, packets):
    """A port string: these packets come in; and the file of those that go out."""
    file = save(tmp_path / "in.pcap", [bytes(p) for p in packets])
    return f"pcap:rx={file},tx={tmp_path / 'back.pcap'}", tmp_path / "back.pcap"


def frames(file):
    return [Ether(data) for data in load(file)]


def answer(ip, mac, asker="02:00:00:00:01:01"):
    """An ARP reply, as a host sends it."""
    return Ether(src=mac, dst=asker) / ARP(op=2, psrc=ip, hwsrc=mac, hwdst=asker)


@pytest.mark.fast
def test_mirror(tmp_path):
    sent = [Ether(src=NOBODY, dst=ALL, type=0x9000) / bytes([n] * 50) for n in range(9)]
    port, back = through(tmp_path, sent)
    assert click("mirror", "--device", f"0={port}", "-h", "back.count") == "9\n"
    assert [(p.src, p.dst, bytes(p)[12:]) for p in frames(back)] == \
        [(ALL, NOBODY, bytes(p)[12:]) for p in sent]


def test_router(tmp_path):
    host, me = "02:00:00:00:01:05", "02:00:00:00:01:01"

    def packet(dst, ttl=64):
        return Ether(src=host, dst=me) / IP(src="10.0.1.5", dst=dst, ttl=ttl)

    port, back = through(tmp_path, [
        answer("10.0.1.5", host),
        Ether(src=host, dst=ALL) / ARP(psrc="10.0.1.5", pdst="10.0.1.1", hwsrc=host),
        packet("10.0.2.1") / ICMP(id=7), packet("10.0.2.5", ttl=1) / UDP(),
        packet("10.0.2.5") / UDP(), packet("10.9.9.9") / UDP()])
    other = tmp_path / "other.pcap"
    said = click("router", "--device", f"0={port}",
                 "--device", f"1=pcap:tx={other}", "-h", "unroutable.count")
    assert said == "1\n"
    arp, echo, late = frames(back)
    assert (arp[ARP].op, arp.hwsrc, arp.psrc, arp.dst) == (2, me, "10.0.1.1", host)
    assert (echo[IP].src, echo[ICMP].type, echo[ICMP].id) == ("10.0.2.1", 0, 7)
    assert (echo.src, echo.dst, echo[IP].dst) == (me, host, "10.0.1.5")
    assert (late[ICMP].type, late[IP].dst, late.dst) == (11, "10.0.1.5", host)
    asked, = frames(other)
    assert (asked[ARP].op, asked.pdst, asked.dst) == (1, "10.0.2.5", ALL)


def test_firewall(tmp_path):
    def tcp(flags, port, dst="10.0.1.80"):
        return Ether(src=NOBODY, dst=NOBODY) / IP(src="192.0.2.9", dst=dst) / TCP(
            dport=port, flags=flags)

    passing = [tcp("S", 80), tcp("S", 443), tcp("SA", 999), tcp("A", 22),
               Ether() / IP(src="192.0.2.9", dst="10.0.1.5") / UDP(sport=53),
               Ether() / IP(dst="10.0.1.5") / ICMP(), Ether(dst=ALL) / ARP()]
    stopped = [tcp("S", 22), tcp("S", 80, "10.0.1.81"), Ether() / IP() / UDP(sport=54),
               Ether(type=0x86dd) / bytes(60)]
    port, _ = through(tmp_path, stopped[:2] + passing + stopped[2:])
    inside = tmp_path / "inside.pcap"
    said = click("firewall", "--device", f"0=pcap:tx={inside}",
                 "--device", f"1={port}",
                 "-h", "passed.count", "-h", "other.count")
    assert said.split() == ["passed.count:", "6", "other.count:", "1"]
    assert [bytes(p) for p in frames(inside)] == [bytes(p) for p in passing]


def test_nat(tmp_path):
    host = Ether(src=NOBODY, dst="02:00:00:00:00:01") / IP(src="10.0.0.9", dst="8.8.8.8")
    port, _ = through(tmp_path, [host / UDP(sport=5353, dport=53),
                                 host / TCP(sport=80), host / ICMP(id=7),
                                 host / ICMP(type=13)])
    outside = tmp_path / "outside.pcap"
    said = click("nat", "--device", f"0={port}",
                 "--device", f"1=pcap:tx={outside}",
                 "-h", "nat.size", "-h", "pings.size", "-h", "notTranslated.count")
    assert said.split() == ["nat.size:", "2", "pings.size:", "1",
                            "notTranslated.count:", "1"]
    assert {(p[ARP].op, p.psrc, p.pdst) for p in frames(outside)} == {
        (1, "192.0.2.1", "192.0.2.254")}


def test_balancer(tmp_path):
    servers = [f"02:00:00:00:00:{n}" for n in (11, 12, 13, 14)]
    sent = [answer(f"10.0.0.{n}", mac) for n, mac in enumerate(servers, 11)]
    sent += [Ether(src=NOBODY, dst="02:00:00:00:00:80")
             / IP(src="198.51.100.7", dst="10.0.0.80") / TCP(sport=port, dport=80)
             for port in (1001, 1002, 1003, 1004, 1005, 1001, 1003)]
    port, back = through(tmp_path, sent)
    click("balancer", "--device", f"0={port}")
    got = [(p.dst, p[IP].dst, p[TCP].sport) for p in frames(back)]
    assert [sport for *_, sport in got] == [1001, 1002, 1003, 1004, 1005, 1001, 1003]
    server = {sport: mac for mac, _, sport in got}
    assert [server[n] for n in (1001, 1002, 1003, 1004)] == servers
    assert server[1005] == servers[0]
    assert all(mac == servers[int(ip[-2:]) - 11] for mac, ip, _ in got)


def test_every_example_is_tested():
    names = {path.stem for path in FOLDER.glob("*.click")}
    assert {f"test_{name}" for name in names} <= set(globals())

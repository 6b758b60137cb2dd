# SPDX-License-Identifier: Apache-2.0
"""replay that changes packets, and parts a capture onto two ports. Scapy and tshark say
what is right, and tcprewrite and tcpprep, where they are installed."""

import shutil
import subprocess

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPerror, TCPerror, fragment
from scapy.layers.inet6 import (ICMPv6DestUnreach, ICMPv6ND_NS, ICMPv6NDOptSrcLLAddr, IPv6,
                                IPv6ExtHdrDestOpt, IPv6ExtHdrRouting, fragment6,
                                IPv6ExtHdrFragment)
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether
from scapy.layers.sctp import SCTP, SCTPChunkData
from scapy.packet import Raw

from helpers.command import perigee
from helpers.replayed import (
    A, B, CLIENT, CLIENT6, ETHER, MACS, MAPS, PORTS, SERVER, SERVER6, back, load, save, split,
    tcp, there, there6, wrong_checksums)
from helpers.report import number


def no_sum(packet):
    """Without a checksum: UDP's 0."""
    packet[UDP].chksum = 0
    return packet


def traffic():
    """Frames of each kind that is changed, all with right checksums."""
    odd, long = b"odd", bytes(range(256)) * 12
    error = IP(src=SERVER, dst=CLIENT) / UDP(sport=53, dport=5555) / b"what it is about"
    error6 = IPv6(src=SERVER6, dst=CLIENT6) / TCP(sport=80, dport=5555) / b"it"
    packets = [
        there(tcp(5555, 80, "S")), back(tcp(80, 5555, "SA")), there(tcp(5555, 80, "A", odd)),
        there(UDP(sport=5555, dport=53) / Raw(odd)),
        no_sum(there(UDP(sport=5555, dport=53) / Raw(odd))),
        there(ICMP() / Raw(odd)), there(ICMP(type=3, code=3) / error),
        there(ICMP(type=5, gw="10.9.0.1") / error),
        there(SCTP(sport=5555, dport=80) / SCTPChunkData(data=odd)),
        ETHER / Dot1Q(vlan=7, prio=3) / IP(src=CLIENT, dst=SERVER) / tcp(5555, 80, "A", odd),
        ETHER / Dot1AD(vlan=9) / Dot1Q(vlan=7) / IPv6(src=CLIENT6, dst=SERVER6) /
        UDP(sport=5555, dport=53) / Raw(odd),
        there6(tcp(5555, 80, "S", odd)), there6(UDP(sport=5555, dport=53) / Raw(odd)),
        there6(IPv6ExtHdrDestOpt() / UDP(sport=5555, dport=53) / Raw(odd)),
        there6(IPv6ExtHdrRouting(addresses=["2001:db8:3::1"], segleft=1) /
               tcp(5555, 80, "A", odd)),
        there6(ICMPv6DestUnreach() / error6),
        there6(ICMPv6ND_NS(tgt=SERVER6) / ICMPv6NDOptSrcLLAddr(lladdr=A)),
        ETHER / ARP(op=1, hwsrc=A, psrc=CLIENT, hwdst=B, pdst=SERVER),
        ETHER / IP(src="192.0.2.1", dst="192.0.2.2", options=[]) / tcp(1, 2, "A"),
    ]
    packets += [ETHER / p for p in fragment(
        IP(src=CLIENT, dst=SERVER) / UDP(sport=5555, dport=53) / Raw(long), 1000)]
    packets += [ETHER / p for p in fragment6(
        IPv6(src=CLIENT6, dst=SERVER6) / IPv6ExtHdrFragment(id=5) /
        UDP(sport=5555, dport=53) / Raw(long), 1300)]
    return [Ether(bytes(p)) for p in packets]


def replayed(tmp_path, packets, *options):
    file, out = save(tmp_path / "in.pcap", packets), tmp_path / "out.pcap"
    result = perigee("replay", "--topspeed", *options, file, f"pcap:tx={out}")
    assert result.returncode == 0, result.stderr
    return load(out), result.stdout


@pytest.mark.parametrize("options", [MAPS, PORTS, MACS, MAPS + PORTS + MACS])
def test_checksums_stay_right(tmp_path, options):
    packets = traffic()
    changed, said = replayed(tmp_path, packets, *options)
    assert len(changed) == len(packets)
    assert wrong_checksums(tmp_path / "in.pcap") == []
    assert wrong_checksums(tmp_path / "out.pcap") == [], said
    assert 10 <= number(r"rewritten: ([\d,]+) packets\n", said) <= len(packets)


def test_what_is_changed_into_what(tmp_path):
    changed, _ = replayed(tmp_path, traffic(), *MAPS, *PORTS, *MACS)
    for packet in changed[:18]:
        assert (packet.src[-5:], packet.dst[-5:]) in [("0a:01", "0a:02"), ("0a:02", "0a:01")]
        if IP in packet:
            assert {packet[IP].src, packet[IP].dst} == {"172.16.2.3", "192.0.2.80"}
        elif IPv6 in packet:
            assert (packet[IPv6].src, packet[IPv6].dst) == ("fd00:1::5", "fd00:2::80")
    assert (changed[0].sport, changed[0].dport) == (6555, 8080)
    assert changed[3][UDP].dport == 5353 and changed[4][UDP].chksum == 0
    error = changed[6]
    assert error[IPerror].src == "192.0.2.80" and error[IPerror].dst == "172.16.2.3"
    inner = IP(bytes(error[IPerror]))
    assert inner[UDP].sport == 5353 and inner[UDP].dport == 6555
    sums = inner.chksum, inner[UDP].chksum
    del inner.chksum, inner[UDP].chksum
    fresh = IP(bytes(inner))
    assert (fresh.chksum, fresh[UDP].chksum) == sums
    assert changed[7][ICMP].gw == "192.0.2.1"
    assert changed[8][SCTP].dport == 8080
    arp = changed[17][ARP]
    assert (arp.psrc, arp.pdst, arp.hwsrc[-5:]) == ("172.16.2.3", "192.0.2.80", "0a:01")
    assert changed[16][ICMPv6ND_NS].tgt == "fd00:2::80"
    assert changed[16][ICMPv6NDOptSrcLLAddr].lladdr == "02:00:00:00:0a:01"
    assert changed[18][IP].src == "192.0.2.1"


def test_an_error_about_tcp_that_ends_before_its_checksum(tmp_path):
    inner = bytes(IP(src=SERVER, dst=CLIENT) / TCP(sport=80, dport=5555))[:28]
    packets = [Ether(bytes(there(ICMP(type=3, code=3) / Raw(inner))))]
    [changed], said = replayed(tmp_path, packets, *MAPS, *PORTS)
    assert wrong_checksums(tmp_path / "out.pcap") == [] and "is wrong now" not in said
    assert changed[IPerror].src == "192.0.2.80" and changed[TCPerror].sport == 8080


def test_a_checksum_that_lies_in_another_fragment_is_told(tmp_path):
    whole = bytes(there(tcp(5555, 80, "A", b"x" * 40)))
    first = Ether(whole)[IP].copy()
    first.remove_payload()
    first.flags, first.len, first.chksum = "MF", 28, None
    packets = [ETHER / first / Raw(whole[34:42])]
    _, said = replayed(tmp_path, packets, *MAPS)
    assert "rewritten: 1 packets, 1 of them with a checksum" in said


@pytest.mark.parametrize("how, expected", [
    ("strip", [0, 0, 0]), ("add:100:5", [100, 100, 100]), ("replace:5", [0, 5, 5]),
    ("replace:7:5", [0, 5, 9])])
def test_vlan_tags(tmp_path, how, expected):
    packets = [traffic()[i] for i in (0, 9, 10)]
    changed, _ = replayed(tmp_path, packets, "--vlan", how)
    outer = [p[Dot1AD].vlan if p.type == 0x88a8 else p[Dot1Q].vlan if p.type == 0x8100 else 0
             for p in changed]
    if how == "strip":
        assert [p.type for p in changed] == [0x800, 0x800, 0x8100]
        expected = [0, 0, 7]
    assert outer == expected
    if how.startswith("add"):
        assert all(p.prio == 5 and bytes(p)[18:] == bytes(q)[14:]
                   for p, q in zip(changed, packets))


def test_a_function_of_the_users(tmp_path):
    script = tmp_path / "edit.lua"
    script.write_text("local n = 0\nreturn function (p)\n  n = n + 1\n"
                      "  p.data[22] = 9 -- time to live\n  return n % 3 ~= 0\nend\n")
    packets = [there(UDP() / b"hello")] * 9
    changed, said = replayed(tmp_path, packets, "--edit", script, "--fix-checksums")
    assert [p[IP].ttl for p in changed] == [9] * 6
    assert wrong_checksums(tmp_path / "out.pcap") == []
    assert "dropped: 3 (3 by the edit function)" in said
    found, said = split(tmp_path, packets, "--topspeed", "--edit", script)
    assert [len(f) for f in found] == [6, 0]
    assert "dropped: 3 (3 by the edit function)" in said
    script.write_text("return function (p) error('no such luck') end")
    result = perigee("replay", "--edit", script, tmp_path / "in.pcap", "null")
    assert result.returncode == 1 and "no such luck" in result.stderr


@pytest.mark.parametrize("options, sentence", [
    (["--map-ip", "10.0.0.0/8"], "'10.0.0.0/8' isn't two networks such as"),
    (["--map-ip", "10.0.0.0/33:1.2.3.4/8"], "isn't two networks"),
    (["--map-ip", "10.0.0.0/8:[fd00::/8]"], "one is IPv4, the other IPv6"),
    (["--map-mac", "02:00:00:00:00:01"], "isn't two Ethernet addresses"),
    (["--map-port", "80:70000"], "'80:70000' isn't ports such as"),
    (["--map-port", "80-90:1-5"], "the two ranges have other lengths"),
    (["--vlan", "add:5000"], "'add:5000' isn't strip, add:100"),
    (["--edit", "/no/such.lua"], "/no/such.lua: No such file"),
    (["--sides", "syn"], "--sides is for two ports, and there is only null")])
def test_refusals(options, sentence):
    result = perigee("replay", *options, "f.pcap", "null")
    assert result.returncode == 2 and sentence in result.stderr, result.stderr
    assert result.stderr.count("\n") == 1


def test_a_file_that_is_no_function(tmp_path):
    script = tmp_path / "edit.lua"
    for text, sentence in [("return 7", "returns number, not a function"),
                           ("return (", "unexpected symbol"), ("error('x y')", "x y")]:
        script.write_text(text)
        result = perigee("replay", "--edit", script, "f.pcap", "null")
        assert result.returncode == 2 and sentence in result.stderr, result.stderr


def test_rewritten_as_tcprewrite_does(tmp_path):
    """Of what it rewrites, too: no ICMP errors, and addresses and ports of whole packets."""
    if not shutil.which("tcprewrite"):
        pytest.skip("there is no tcprewrite (Debian's tcpreplay)")
    packets = [p for i, p in enumerate(traffic()) if i in (0, 1, 2, 3, 5, 11, 12, 18)]
    changed, _ = replayed(tmp_path, packets, *MAPS[:4], *PORTS[:2], *MACS)
    other = tmp_path / "tcprewrite.pcap"
    subprocess.run(["tcprewrite", "-i", tmp_path / "in.pcap", "-o", other,
                    "--pnat=10.1.0.0/16:172.16.0.0/16,10.9.0.0/24:192.0.2.0/24,"
                    "[2001:db8:1::/48]:[fd00:1::/48]", "--portmap=80:8080,53:5353",
                    f"--enet-subsmac={A},02:00:00:00:0a:01",
                    f"--enet-subsmac={B},02:00:00:00:0a:02"],
                   check=True, timeout=60, capture_output=True)
    # tcprewrite 4.4 gives all of IPv6 Ethernet addresses of groups.
    assert [bytes(p)[12 if IPv6 in p else 0:] for p in changed] == \
        [bytes(p)[12 if IPv6 in p else 0:] for p in load(other)]


@pytest.mark.parametrize("ours, theirs", [
    ("add:100", ["add", "--enet-vlan-tag=100", "--enet-vlan-cfi=0", "--enet-vlan-pri=0"]),
    ("add:100:5", ["add", "--enet-vlan-tag=100", "--enet-vlan-cfi=0", "--enet-vlan-pri=5"]),
    ("strip", ["del"])])
def test_tags_are_those_of_tcprewrite(tmp_path, ours, theirs):
    """Of packets without a tag, with one and with two, byte by byte."""
    if not shutil.which("tcprewrite"):
        pytest.skip("there is no tcprewrite (Debian's tcpreplay)")
    packets = traffic()
    changed, _ = replayed(tmp_path, packets, "--vlan", ours)
    other = tmp_path / "tcprewrite.pcap"
    subprocess.run(["tcprewrite", "-i", tmp_path / "in.pcap", "-o", other,
                    f"--enet-vlan={theirs[0]}", *theirs[1:]],
                   check=True, timeout=60, capture_output=True)
    found = load(other)
    assert len(changed) == len(found) == len(packets)
    for packet, was, one, theirs_ in zip(changed, packets, map(bytes, changed),
                                         map(bytes, found)):
        assert one[:12] == bytes(was)[:12]
        start = 12 if IPv6 in packet else 0 # as above
        assert one[start:] == theirs_[start:], was.summary()

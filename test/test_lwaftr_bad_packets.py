# SPDX-License-Identifier: Apache-2.0
"""`perigee lwaftr check` on packets that are cut short, mutated, nested or in pieces: all
are counted, and what comes out is sound. PERIGEE_LONG=1 tries 10 million mutated ones."""

import os
import re

from scapy.all import (GRE, ICMP, IP, UDP, Ether, ICMPv6PacketTooBig, IPv6,
                       IPv6ExtHdrFragment)

from helpers.command import ROOT, perigee
from helpers.lwaftr_check import (B4, BACK, BR, HOP6, INNER, INTERNAL, LWAFTR6, PEER, PORT,
                                  SHARED, Lwaftr, from_peer, tunnel)

PACKETS = 10_000_000 if os.environ.get("PERIGEE_LONG") else 0
LONG_TIMEOUT_S = 36000


def cut(*shapes):
    """The frames cut off at each length, and whole."""
    # With all addresses given: Scapy would look for them on the wire.
    frames = [bytes(Ether(dst=INTERNAL, src=HOP6) / shape) for shape in shapes]
    return [frame[:n] for frame in frames for n in range(len(frame) + 1)]


def test_survives_packets_cut_off_at_each_length(tmp_path):
    """What comes out is sound: that is one for each whole packet of a softwire's."""
    lwaftr = Lwaftr(tmp_path)
    out4, out6 = lwaftr.frames(
        v4=cut(INNER, from_peer(ICMP(type=3) / INNER), from_peer(GRE() / INNER),
               from_peer(UDP(dport=PORT) / b"x", options=b"\x94\x04\0\0")),
        v6=cut(tunnel(BACK), tunnel(IP(src=SHARED, dst=PEER) / ICMP(type=3) / INNER),
               IPv6(src=B4, dst=BR) / ICMPv6PacketTooBig() / tunnel(INNER, BR, B4),
               tunnel(tunnel(BACK))))
    assert [frame[UDP].sport for frame in out4 if ICMP not in frame] == [PORT]
    assert lwaftr.counters["out-ipv6-packets"] == 3  # one is an error of ICMPv6
    for frame in out4:
        assert frame[IP].len == len(frame) - 14
    assert {frame[IPv6].src for frame in out6} <= {BR, LWAFTR6}


def test_counts_each_packet_cut_off():
    """Each comes out, is answered, or is in a counter; floods of fragments, too."""
    result = perigee("run", ROOT / "test/lwaftr_counted.lua")
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr
    assert re.search("^[0-9]{5} frames sent, 0 not counted$", result.stdout, re.M)


def test_fast_and_slow_ways_do_the_same():
    """Mutated packets of all kinds in bursts: what is sent and counted. Up to 120 a burst
    are 60 on average."""
    bursts = (PACKETS // 60, 1, 120) if PACKETS else (240,)
    result = perigee("run", ROOT / "test/fuzz_lwaftr_ways.lua", *bursts,
                     timeout=LONG_TIMEOUT_S if PACKETS else 60)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr
    assert " packets compared, 0 differences" in result.stdout


def fragments_of(payload, ident, where):
    """IPv4 fragments of UDP: (offset in bytes, length, whether more follow) each."""
    whole = bytes(UDP(dport=PORT, len=8 + len(payload), chksum=1) / payload)
    return [IP(bytes(IP(src=PEER, dst=SHARED, proto=17, id=ident, frag=first // 8,
                        flags="MF" if more else 0) / whole[first:first + size]))
            for first, size, more in where]


def test_bounds_what_it_keeps_of_fragments(tmp_path):
    """A flood of first fragments, tiny ones and overlapping ones: all are counted."""
    lwaftr = Lwaftr(tmp_path, "reassembly { max-packets 100; }")
    flood = [fragments_of(b"x" * 100, ident, [(0, 16, True)])[0]
             for ident in range(2000)]
    tiny = fragments_of(b"y" * 24, 3000, [(0, 8, True), (8, 8, True), (16, 16, False)])
    overlapping = fragments_of(b"z" * 100, 3001, [(0, 64, True), (56, 52, False)])
    out4, out6 = lwaftr(v4=[*flood, *tiny, *overlapping,
                            from_peer(UDP(dport=PORT) / b"whole")])
    assert out4 == []
    assert [bytes(f[UDP].payload) for f in out6] == [b"whole", b"y" * 24]
    counters = lwaftr.counters
    assert counters["in-ipv4-frag-needs-reassembly"] == len(flood) + 5
    assert counters["in-ipv4-frag-reassembled"] == 1
    assert counters["drop-ipv4-frag-invalid-reassembly"] == 1
    assert counters["drop-ipv4-frag-random-evicted"] == len(flood) + 1 - 100


def tunnel_fragments(payload, ident, where):
    """Fragments of a tunnel's packet: as fragments_of, by the bytes within the tunnel."""
    whole = bytes(IP(src=SHARED, dst=PEER) / UDP(sport=PORT) / payload)
    return [IPv6(src=B4, dst=BR) / IPv6ExtHdrFragment(nh=4, id=ident, offset=first // 8,
                                                      m=int(more)) /
            whole[first:first + size] for first, size, more in where]


def test_bounds_what_it_keeps_of_tunnels_fragments(tmp_path):
    """As above, from B4s. Those that overlap are all dropped (RFC 5722)."""
    lwaftr = Lwaftr(tmp_path, internal="reassembly { max-packets 100; }")
    flood = [tunnel_fragments(b"x" * 100, ident, [(0, 64, True)])[0]
             for ident in range(2000)]
    tiny = tunnel_fragments(b"y" * 20, 3000, [(first, 8, first < 40)
                                              for first in range(0, 48, 8)])
    overlapping = tunnel_fragments(b"z" * 100, 3001, [(0, 64, True), (56, 72, False)])
    alone = tunnel_fragments(b"alone", 3002, [(0, 33, False)])
    out4, out6 = lwaftr(v6=[*flood, *tiny, *overlapping, *alone])
    assert out6 == []
    assert [bytes(f[UDP].payload) for f in out4] == [b"y" * 20, b"alone"]
    counters = lwaftr.counters
    assert counters["in-ipv6-frag-needs-reassembly"] == len(flood) + 9
    assert counters["in-ipv6-frag-reassembled"] == 2
    assert counters["drop-ipv6-frag-invalid-reassembly"] == 1
    assert counters["drop-ipv6-frag-random-evicted"] >= len(flood) - 100


def test_counts_what_tunnels_carry_wrongly(tmp_path):
    """Wrong lengths, and tunnels in tunnels."""
    lwaftr = Lwaftr(tmp_path)
    back = IP(bytes(IP(src=SHARED, dst=PEER) / UDP(sport=PORT) / b"back"))
    longer = IPv6(src=B4, dst=BR, plen=2000) / back
    shorter = IPv6(src=B4, dst=BR) / IP(bytes(back)[:2] + b"\x00\x13" + bytes(back)[4:])
    nested = tunnel(tunnel(back))
    nested[IPv6].nh = 4
    gre = IPv6(src=B4, dst=BR, nh=47) / bytes(back)
    out4, out6 = lwaftr(v6=[longer, shorter, nested, tunnel(tunnel(back)), gre])
    assert (out4, out6) == ([], [])
    assert lwaftr.counters["in-ipv6-packets"] == 4  # none of `longer`
    assert lwaftr.counters["drop-no-source-softwire-ipv6-packets"] == 2
    assert lwaftr.counters["drop-unknown-protocol-ipv6-packets"] == 2
    assert lwaftr.counters["drop-all-ipv6-iface-packets"] == 4

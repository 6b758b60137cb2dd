# SPDX-License-Identifier: Apache-2.0
"""`perigee lwaftr check`: packets from Scapy through an lwAFTR, and what comes out is
what Scapy makes of RFC 7596's rules."""

import random

import pytest
from scapy.all import (ICMP, IP, TCP, UDP, Ether, ICMPv6DestUnreach, ICMPv6PacketTooBig,
                       ICMPv6TimeExceeded, IPv6, IPv6ExtHdrFragment, checksum, fragment)

from helpers.lwaftr_check import (B4, BR, EXTERNAL, HOP4, LWAFTR4, PEER, PORT, SECOND_B4,
                                  SECOND_PORT, SHARED, WHOLE, WHOLE_B4, Lwaftr, aged,
                                  from_peer, sent, to_b4, tunnel)


@pytest.fixture
def lwaftr(tmp_path):
    return Lwaftr(tmp_path)


def icmp4_error(lwaftr_frame, kind, code, about, mtu=0):
    error = lwaftr_frame
    assert (error.dst, error.src) == (HOP4, EXTERNAL)
    assert (error[IP].src, error[IP].dst) == (LWAFTR4, about.src)
    assert (error[ICMP].type, error[ICMP].code) == (kind, code)
    assert error[ICMP].nexthopmtu == mtu or not mtu
    # (As bytes: Scapy 2.6 takes what is behind the first 128 for extensions.)
    wanted = bytes(about)[:576 - 28]
    datagram = error[IP].original
    assert datagram[28:][:len(wanted)] == wanted
    assert checksum(datagram[:20]) == checksum(datagram[20:error[IP].len]) == 0


def test_encapsulates_by_address_and_port(lwaftr):
    packets = [from_peer(UDP(dport=PORT) / b"one", tos=0x2e),
               from_peer(TCP(dport=SECOND_PORT) / b"two"),
               from_peer(UDP(dport=99) / b"three", WHOLE),
               from_peer(UDP(dport=PORT) / b"four", options=b"\x94\x04\0\0")]
    out4, out6 = lwaftr(v4=packets)
    assert out4 == []
    assert sent(out6) == [to_b4(p, b4) for p, b4 in
                          zip(packets, (B4, SECOND_B4, WHOLE_B4, B4))]
    assert lwaftr.counters["in-ipv4-packets"] == 4
    assert lwaftr.counters["out-ipv6-bytes"] == sum(map(len, out6))


def test_decapsulates_what_comes_through_the_right_tunnel(lwaftr):
    good = IP(bytes(IP(src=SHARED, dst=PEER) / UDP(sport=PORT, dport=53) / b"question"))
    out4, out6 = lwaftr(v6=[tunnel(good), tunnel(good, b4=SECOND_B4),
                            tunnel(good, br="fc00::201")])
    assert sent(out4) == [bytes(Ether(dst=HOP4, src=EXTERNAL) / good)]
    assert [f[ICMPv6DestUnreach].code for f in out6] == [5, 5]
    assert [(f[IPv6].src, f[IPv6].dst) for f in out6] == [(BR, SECOND_B4), (BR, B4)]
    for frame in out6:
        fresh = frame.copy()
        del fresh[ICMPv6DestUnreach].cksum
        assert Ether(bytes(fresh))[ICMPv6DestUnreach].cksum == \
            frame[ICMPv6DestUnreach].cksum
    assert lwaftr.counters["drop-no-source-softwire-ipv6-packets"] == 2


def test_hairpins_unless_told_not_to(tmp_path):
    packet = IP(bytes(IP(src=SHARED, dst=WHOLE) / UDP(sport=PORT, dport=1) / b"hello"))
    lwaftr = Lwaftr(tmp_path)
    out4, out6 = lwaftr(v6=[tunnel(packet)])
    assert (out4, sent(out6)) == ([], [to_b4(packet, WHOLE_B4)])
    assert lwaftr.counters["hairpin-ipv4-packets"] == 1
    out4, out6 = Lwaftr(tmp_path, internal="hairpinning false;")(v6=[tunnel(packet)])
    assert (len(out4), out6) == (1, [])


def test_answers_what_it_cannot_send(lwaftr):
    nobody = from_peer(UDP(dport=PORT + 1024) / (b"x" * 700))
    expired = from_peer(UDP(dport=PORT) / b"x", ttl=1)
    big = from_peer(UDP(dport=PORT) / (b"x" * 1450), flags="DF")
    out4, out6 = lwaftr(v4=[nobody, expired, big])
    assert out6 == [] and len(out4) == 3
    icmp4_error(out4[0], 3, 1, nobody)
    icmp4_error(out4[1], 11, 0, aged(expired))
    icmp4_error(out4[2], 3, 4, aged(big), mtu=1460)
    assert lwaftr.counters["out-icmpv4-error-packets"] == 3
    assert lwaftr.counters["drop-all-ipv4-iface-packets"] == 3


def test_sends_as_many_errors_as_it_may(tmp_path):
    packets = [from_peer(UDP(dport=PORT + 1024) / b"x")] * 30
    lwaftr = Lwaftr(tmp_path, "error-rate-limiting { packets 7; period 100; }")
    assert len(lwaftr(v4=packets)[0]) == 7
    assert lwaftr.counters["drop-over-rate-limit-icmpv4-packets"] == 23
    assert Lwaftr(tmp_path, "generate-icmp-errors false;")(v4=packets) == [[], []]


def test_fragments_and_reassembles(lwaftr):
    big = from_peer(UDP(dport=PORT) / (b"0123456789" * 200))
    pieces = fragment(big, 800)
    out4, out6 = lwaftr(v4=random.Random(3).sample(pieces, len(pieces)))
    assert out4 == [] and len(out6) == 2
    data = {f[IPv6ExtHdrFragment].offset * 8: bytes(f[IPv6ExtHdrFragment].payload)
            for f in out6}
    whole = b"".join(data[at] for at in sorted(data))
    inner = IP(whole)
    assert bytes(inner[UDP].payload) == b"0123456789" * 200
    assert lwaftr.counters["in-ipv4-frag-reassembled"] == 1


@pytest.mark.parametrize("error, kind, code, mtu", [
    (ICMPv6PacketTooBig(mtu=1400), 3, 4, 1360),
    (ICMPv6TimeExceeded(code=0), 3, 1, 0), (ICMPv6DestUnreach(code=3), 3, 1, 0)])
def test_passes_errors_from_tunnels_on(lwaftr, error, kind, code, mtu):
    inner = from_peer(UDP(dport=PORT) / b"lost on its way")
    message = IPv6(src="2001:db8:ffff::1", dst=BR) / error / tunnel(inner, BR, B4)
    out4, out6 = lwaftr(v6=[message])
    assert out6 == []
    icmp4_error(out4[0], kind, code, inner, mtu)


def test_sorts_icmp(lwaftr):
    ping = from_peer(ICMP(type=8, id=3) / b"ping", WHOLE)
    to_shared = from_peer(ICMP(type=8, id=PORT) / b"ping")
    reply = from_peer(ICMP(type=0, id=PORT) / b"pong")
    lost = IP(src=SHARED, dst=PEER) / UDP(sport=SECOND_PORT, dport=9) / b"x"
    unreachable = from_peer(ICMP(type=3, code=3) / IP(bytes(lost)))
    wrong = from_peer(ICMP(type=0, id=PORT, chksum=1) / b"pong")
    out4, out6 = lwaftr(v4=[ping, to_shared, reply, unreachable, wrong])
    assert sent(out6) == [to_b4(ping, WHOLE_B4), to_b4(reply, B4),
                          to_b4(unreachable, SECOND_B4)]
    assert out4 == []
    assert lwaftr.counters["drop-bad-checksum-icmpv4-packets"] == 1
    assert lwaftr.counters["drop-in-by-rfc7596-icmpv4-packets"] == 1

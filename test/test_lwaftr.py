# SPDX-License-Identifier: Apache-2.0
"""`perigee lwaftr check` and `generate`: packets from Scapy through an lwAFTR, and what
comes out is what Scapy makes of RFC 7596's rules."""

import random
import re

import pytest
from scapy.all import (GRE, ICMP, IP, TCP, UDP, Ether, ICMPv6DestUnreach,
                       ICMPv6PacketTooBig, ICMPv6TimeExceeded, IPv6,
                       IPv6ExtHdrFragment, fragment, rdpcap)

from helpers.capture import save
from helpers.command import PERIGEE, ROOT, perigee, run

LWAFTR4, LWAFTR6, BR = "10.0.1.1", "fc00::100", "fc00::200"
EXTERNAL, INTERNAL = "02:aa:aa:aa:aa:01", "02:aa:aa:aa:aa:02"
HOP4, HOP6 = "02:99:99:99:99:04", "02:99:99:99:99:06"
# Softwires: address, PSID, B4, PSID length.
SHARED, SECOND, WHOLE = "192.0.2.1", "192.0.2.1", "192.0.2.2"
B4, SECOND_B4, WHOLE_B4 = "2001:db8::1", "2001:db8::2", "2001:db8::3"
PORT, SECOND_PORT = 1024 * 5 + 7, 1024 * 9 + 1  # PSIDs 5 and 9 of 6 bits
PEER = "198.51.100.7"

CONF = """
softwire-config {
  binding-table {
    softwire { ipv4 192.0.2.1; psid 5; b4-ipv6 2001:db8::1; br-address fc00::200;
      port-set { psid-length 6; } }
    softwire { ipv4 192.0.2.1; psid 9; b4-ipv6 2001:db8::2; br-address fc00::200;
      port-set { psid-length 6; } }
    softwire { ipv4 192.0.2.2; psid 0; b4-ipv6 2001:db8::3; br-address fc00::200;
      port-set { psid-length 0; } }
  }
  external-interface { %s }
  internal-interface { flow-label 77; mtu 1500; %s }
  instance { device test; queue { id 0;
    external-interface { ip 10.0.1.1; mac 02:aa:aa:aa:aa:01;
      next-hop { mac 02:99:99:99:99:04; } }
    internal-interface { ip fc00::100; mac 02:aa:aa:aa:aa:02;
      next-hop { mac 02:99:99:99:99:06; } } } }
}
"""


class Lwaftr:
    """Sends packets through; `counters` are those of the last time."""

    def __init__(self, folder, external="", internal=""):
        self.folder = folder
        (folder / "a.conf").write_text(CONF % (external, internal))

    def __call__(self, v4=(), v6=()):
        return self.frames(*([bytes(Ether(dst=INTERNAL, src=HOP6) / packet)
                              for packet in packets] for packets in (v4, v6)))

    def frames(self, v4=(), v6=()):
        names = ["in4", "in6", "out4", "out6"]
        files = [self.folder / f"{name}.pcap" for name in names]
        save(files[0], v4)
        save(files[1], v6)
        counters = self.folder / "counters.lua"
        result = perigee("lwaftr", "check", "-r", self.folder / "a.conf", *files,
                         counters)
        assert result.returncode == 0, result.stderr
        self.counters = {
            line.split('"')[1]: int(line.split("=")[1].strip(" ,\n"))
            for line in counters.read_text().splitlines() if '"' in line}
        return [list(rdpcap(str(path))) for path in files[2:]]


@pytest.fixture
def lwaftr(tmp_path):
    return Lwaftr(tmp_path)


def aged(packet, by=1):
    """The IPv4 packet with its time to live counted down."""
    packet = packet.copy()
    packet.ttl -= by
    del packet.chksum
    return packet


def tunnel(packet, b4=B4, br=BR):
    return IPv6(src=b4, dst=br) / packet


def to_b4(packet, b4):
    return bytes(Ether(dst=HOP6, src=INTERNAL) /
                 IPv6(src=BR, dst=b4, fl=77, tc=packet.tos, hlim=255, nh=4) /
                 aged(packet))


def sent(frames):
    return [bytes(frame) for frame in frames]


def from_peer(payload, to=SHARED, **kwargs):
    return IP(bytes(IP(src=PEER, dst=to, **kwargs) / payload))


def icmp4_error(lwaftr_frame, kind, code, about, mtu=0):
    error = lwaftr_frame
    assert (error.dst, error.src) == (HOP4, EXTERNAL)
    assert (error[IP].src, error[IP].dst) == (LWAFTR4, about.src)
    assert (error[ICMP].type, error[ICMP].code) == (kind, code)
    assert error[ICMP].nexthopmtu == mtu or not mtu
    wanted = bytes(about)[:576 - 28]
    assert bytes(error[ICMP].payload)[:len(wanted)] == wanted
    for layer in (IP, ICMP):  # Scapy makes the same checksums
        fresh = error.copy()
        del fresh[layer].chksum
        assert Ether(bytes(fresh))[layer].chksum == error[layer].chksum


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


INNER = from_peer(UDP(dport=PORT) / b"0123456789")
BACK = IP(bytes(IP(src=SHARED, dst=PEER) / UDP(sport=PORT) / b"back"))


def cut(*shapes):
    """The frames cut off at each length, and whole."""
    # With all addresses given: Scapy would look for them on the wire.
    frames = [bytes(Ether(dst=INTERNAL, src=HOP6) / shape) for shape in shapes]
    return [frame[:n] for frame in frames for n in range(len(frame) + 1)]


def test_survives_packets_cut_off_at_each_length(lwaftr):
    """What comes out is sound: that is one for each whole packet of a softwire's."""
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


def test_fast_and_slow_ways_do_the_same():
    """Mutated packets of all kinds in bursts: what is sent and counted."""
    result = perigee("run", ROOT / "test/fuzz_lwaftr_ways.lua", 240)
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


def test_counts_what_tunnels_carry_wrongly(lwaftr):
    """Wrong lengths, and tunnels in tunnels."""
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


def test_changes_and_swaps_lose_no_packet(tmp_path):
    """1,000 changes of softwires a second, and the same table read anew and swapped in,
    while packets pass."""
    conf, v4, v6 = (tmp_path / name for name in ("g.conf", "4.pcap", "6.pcap"))
    result = perigee("lwaftr", "generate", "-o", conf, "-4", v4, "-6", v6, "-n", 500,
                     "193.5.1.0", 16, "fc00::100", "fc00:1:2:3:4:5:0:7e", 6)
    assert result.returncode == 0, result.stderr
    ports = [f"--vdev=net_pcap{i},rx_pcap={path},infinite_rx=1"
             for i, path in enumerate((v4, v6))]
    result = perigee("--eal", ports[0], "--eal", ports[1], "run",
                     ROOT / "bench/lua/lwaftr_changes.lua", conf, 0.5)
    assert result.returncode == 0, result.stderr
    lines = dict(line.split(" ", 1) for line in result.stdout.splitlines())
    made, _, packets, _, lost = lines["changes"].split()
    assert int(made) >= 500 and int(packets) > 0 and int(lost) == 0
    assert len(lines["swaps"].split()) == 5
    assert lines["softwires"].startswith("1008 ")


def test_generates_a_table_and_packets_for_it(tmp_path):
    conf, v4, v6 = tmp_path / "g.conf", tmp_path / "4.pcap", tmp_path / "6.pcap"
    result = perigee("lwaftr", "generate", "-o", conf, "-4", v4, "-6", v6, "-n", 50,
                     "193.5.1.100", 3, "fc00::100", "fc00:1:2:3:4:5:0:7e", 6)
    assert result.returncode == 0, result.stderr
    assert conf.read_text().count("softwire {") == 3 * 63
    counters = tmp_path / "c.lua"
    out4, out6 = tmp_path / "o4.pcap", tmp_path / "o6.pcap"
    result = perigee("lwaftr", "check", "-r", conf, v4, v6, out4, out6, counters)
    assert result.returncode == 0, result.stderr
    assert len(rdpcap(str(out4))) == len(rdpcap(str(out6))) == 50


@pytest.mark.parametrize("arguments, said", [
    ([], "lwaftr needs a command; see `perigee lwaftr --help`"),
    (["chek"], "lwaftr has no command 'chek'; is 'check' meant?"),
    (["check", "/none.conf", "a", "b", "c", "d"], "the configuration can't be read: "
     "/none.conf: No such file or directory"),
    (["generate", "1.2.3", "1", "::1", "::2", "6"],
     "ipv4: '1.2.3' isn't an IPv4 address such as 192.0.2.1"),
    (["generate", "1.2.3.4", "1", "::1", "::2", "6", "11"],
     "psid_length 6 and shift 11 are more than 16 bits"),
    (["generate", "255.255.255.255", "2", "::1", "::2", "6"],
     "there aren't 2 addresses from 255.255.255.255 on"),
    (["generate", "-o", "/none/a", "1.2.3.4", "1", "::1", "::2", "6"],
     "the configuration can't be written: /none/a: No such file or directory"),
    (["generate", "-o", "/dev/full", "1.2.3.4", "1", "::1", "::2", "6"],
     "the configuration can't be written: No space left on device")])
def test_refuses_in_a_sentence(arguments, said):
    result = perigee("lwaftr", *arguments)
    assert result.returncode in (1, 2)
    assert said in result.stderr and result.stderr.count("\n") == 1


@pytest.mark.parametrize("source, said", [
    ("tr '\\0' '{' < /dev/zero", "/dev/stdin:1: '{' is here, where a name should be"),
    ("tr '\\0' x < /dev/zero", "/dev/stdin:1: a word or text that begins here has more "
     "than a megabyte"),
    ("echo 'softwire-config {'", "/dev/stdin:2: the end is here, where a name or '}' "
     "should be"),
    ("cat /dev/null", "the configuration has no instance")])
def test_refuses_files_of_any_size(tmp_path, source, said):
    """Endless ones, too, of which no more is read than is wrong."""
    files = [tmp_path / name for name in "abcd"]
    save(files[0], [])
    save(files[1], [])
    result = run("sh", "-c", f"{source} | '{PERIGEE}' lwaftr check /dev/stdin \"$@\"",
                 "sh", *files)
    assert (result.returncode, result.stderr) == (2, f"perigee: {said}\n")
    assert not files[2].exists() and not files[3].exists()


def test_says_what_it_cannot_write(lwaftr):
    conf = lwaftr.folder / "a.conf"
    lwaftr(v4=[INNER])
    v4, v6 = lwaftr.folder / "in4.pcap", lwaftr.folder / "in6.pcap"
    for outputs in (["/dev/null", "/dev/full", "/dev/null"],
                    ["/dev/null", "/dev/null", "/dev/full"]):
        result = perigee("lwaftr", "check", "-r", conf, v4, v6, *outputs)
        assert result.returncode == 1
        assert re.fullmatch("perigee: .*can't .*No space left on device\n",
                            result.stderr), result.stderr

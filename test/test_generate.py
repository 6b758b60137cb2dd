# SPDX-License-Identifier: Apache-2.0
"""perigee generate: its packets as Scapy sees them, its rates, and its measurements of
what the tests do to its packets."""

import json
import re

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.layers.vxlan import VXLAN

from helpers.capture import save
from helpers.command import PERIGEE, ROOT, perigee, running, wait_until
from helpers.doctor import assert_clean
from helpers.generate import generate, generated, rebuilt
from helpers.network import veth

RECORD = 18  # bytes behind the headers: magic, number, time
UDP4 = 42    # bytes of Ethernet, IPv4 and UDP


# The packets ------------------------------------------------------------------------


@pytest.mark.parametrize("stack, settings", [
    ("eth,ip4,udp", ["ip4Src=10.0.0.1..10.0.255.255", "udpDst=random"]),
    ("eth:vlan,ip4,tcp", ["ethVlan=1..4094", "tcpSrc=random", "tcpSyn=1",
                          "tcpSeqNumber=random", "ip4TTL=1,64,255"]),
    ("eth,ip6,udp", ["ip6Src=2001:db8::1..2001:db8::ffff", "udpSrc=random",
                     "ip6FlowLabel=random"]),
    ("eth,ip6,tcp", ["ip6Dst=random:2001:db8::..2001:db8::ffff:ffff"]),
    ("eth,ip4,udp,vxlan,innerEth=eth,innerIp4=ip4,innerUdp=udp",
     ["vxlanVNI=random", "innerIp4Src=random", "innerUdpDst=random", "ip4Dst=random"]),
])
@pytest.mark.parametrize("size", ["300", "140..400", "140:7,590:4,1514"])
def test_scapy_agrees_with_every_length_and_checksum(tmp_path, stack, settings, size):
    options = [word for text in settings for word in ("--set", text)]
    packets = generated(tmp_path / "out.pcap", "--stack", stack, "--size", size,
                        "--count", 500, *options)
    assert len(packets) == 500
    for data in packets:
        assert rebuilt(data) == data, Ether(data).show(dump=True)


@pytest.mark.fast
def test_fields_have_the_values_set(tmp_path):
    packets = [Ether(data) for data in generated(
        tmp_path / "out.pcap", "--set", "ip4Src=10.0.0.254..10.0.1.1", "--set",
        "udpDst=53,80", "--set", "ethSrc=02:00:00:00:00:01..02:00:00:00:00:03",
        "--set", "ip4Dst=192.0.2.7", "--count", 48)]
    sources = ["10.0.0.254", "10.0.0.255", "10.0.1.0", "10.0.1.1"]
    assert [p[IP].src for p in packets] == sources * 12
    assert [p[UDP].dport for p in packets] == ([53] * 4 + [80] * 4) * 6
    macs = [f"02:00:00:00:00:0{i}" for i in (1, 2, 3) for _ in range(8)]
    assert [p.src for p in packets] == macs * 2
    assert {p[IP].dst for p in packets} == {"192.0.2.7"}


def test_flows_come_again(tmp_path):
    packets = generated(tmp_path / "out.pcap", "--set", "udpSrc=random", "--set",
                        "ip4Src=random", "--flows", 100, "--count", 250)
    flows = [(data[26:30], data[34:36]) for data in packets]
    assert len(set(flows)) == 100
    assert flows[100:] == flows[:150]


def test_tunnels_and_tags_are_what_they_say(tmp_path):
    stack = "eth:vlan,ip4,udp,vxlan,innerEth=eth,innerIp6=ip6,innerTcp=tcp"
    data, = generated(tmp_path / "out.pcap", "--stack", stack, "--count", 1, "--set",
                      "vxlanVNI=77", "--set", "ethVlan=9")
    packet = Ether(data)
    assert packet[Dot1Q].vlan == 9
    assert packet[VXLAN].vni == 77
    assert packet[VXLAN][Ether][IPv6][TCP].dport
    assert len(data) == 18 + 20 + 8 + 8 + 14 + 40 + 20 + RECORD


def test_imix_has_its_shares(tmp_path):
    sizes = [len(data) for data in generated(tmp_path / "out.pcap", "--size", "imix",
                                             "--count", 1200)]
    assert [sizes.count(n) for n in (60, 590, 1514)] == [700, 400, 100]


def test_packets_are_numbered_where_there_is_room(tmp_path):
    packets = generated(tmp_path / "out.pcap", "--size", "59,60,200", "--count", 9)
    records = [data[UDP4:UDP4 + RECORD] for data in packets if len(data) >= 60]
    assert [record[:2] for record in records] == [b"PG"] * 6
    assert [int.from_bytes(record[2:10], "big") for record in records] == list(range(6))
    assert all(not any(data[UDP4:]) for data in packets if len(data) < 60)


def test_too_short_packets_are_told_of():
    result = perigee("generate", "--port", "null", "--size", 50, "--count", 10)
    assert "packets of less than 60 bytes have no room for a number" in result.stdout


# The rate ---------------------------------------------------------------------------


@pytest.mark.parametrize("ports", [["--port", "null"],
                                   ["--port", "ring:a", "--receive", "ring:a"]])
@pytest.mark.parametrize("rate", [10_000, 500_000])
def test_the_rate_is_kept_within_one_percent(ports, rate):
    """It is never higher; and where the machine didn't let it be kept, that is said."""
    results = generate(*ports, "--rate", f"{rate}pps", "--count", rate)
    sent = results["sent"]
    assert sent["packets"] == rate
    if "received" in results:
        assert results["received"]["packets"] == rate
        assert results["received"]["lost"] == 0
    assert sent["requested_pps"] == rate
    assert sent["pps"] <= 1.01 * rate
    assert sent["pps"] >= 0.99 * rate or sent["kept"] < 0.995


def test_bits_of_a_rate_are_those_on_the_wire():
    sent = generate("--port", "null", "--rate", "100Mbit", "--size", "64..1514",
                    "--count", 5000)["sent"]
    mean = sum(range(64, 1515)) / (1515 - 64) + 24
    assert sent["bytes"] / 5000 == pytest.approx(mean - 24, rel=0.1)
    assert sent["bit_rate"] <= 1.01 * 100e6
    assert sent["bit_rate"] >= 0.98 * 100e6 * sent["kept"]


def test_it_says_when_the_rate_was_not_kept():
    args = ["generate", "--port", "null", "--rate", "10Gpps", "--duration", "0.3"]
    result = perigee(*args)
    assert result.returncode == 0
    assert re.search(r"^the rate was not kept: \d+\.\d % of it; a packet was up to"
                     r" [\d.]+ m?s late$", result.stdout, re.MULTILINE)
    result = perigee(*args, "--strict")
    assert result.returncode == 1
    assert re.fullmatch(r"perigee: the rate was not kept: .* % of 10.000 Gpps\n",
                        result.stderr)


# The measurements -------------------------------------------------------------------


def measured(path, packets, *args):
    save(path, packets)
    return generate("--receive", f"pcap:rx={path}", "--idle", "0.2", *args)["received"]


def test_loss_order_and_duplicates_are_counted(tmp_path):
    packets = generated(tmp_path / "out.pcap", "--count", 1000)
    clean = measured(tmp_path / "clean.pcap", packets)
    assert [clean[key] for key in ("packets", "lost", "duplicates", "reordered",
                                   "other")] == [1000, 0, 0, 0, 0]
    assert clean["latency_count"] == 1000
    mangled = packets[:]
    del mangled[300:310], mangled[10]            # 11 lost
    mangled[500:500] = [mangled[499]] * 3        # 3 duplicates
    mangled[700], mangled[701] = mangled[701], mangled[700]  # 1 reordered
    mangled.append(mangled.pop(800))             # 1 more
    mangled.insert(50, bytes(60))                # not ours
    got = measured(tmp_path / "mangled.pcap", mangled)
    assert [got[key] for key in ("packets", "numbered", "lost", "duplicates",
                                 "reordered", "other")] == [993, 992, 11, 3, 2, 1]


def test_the_receiver_needs_the_stack(tmp_path):
    stack = "eth,ip6,udp"
    packets = generated(tmp_path / "out.pcap", "--stack", stack, "--count", 100)
    assert measured(tmp_path / "a", packets, "--stack", stack)["numbered"] == 100
    assert measured(tmp_path / "b", packets)["other"] == 100


def test_a_ring_loses_nothing_and_has_a_latency():
    results = generate("--port", "ring:a", "--receive", "ring:a", "--count", 300_000,
                       "--size", "imix", "--set", "ip4Src=random")
    sent, got = results["sent"], results["received"]
    assert sent["packets"] == got["packets"] == got["latency_count"] == 300_000
    assert sent["bytes"] == got["bytes"]
    assert got["lost"] == got["duplicates"] == got["reordered"] == got["other"] == 0
    latency = got["latency_ns"]
    steps = [latency[key] for key in ("min", "median", "p90", "p99", "p999", "max")]
    assert steps == sorted(steps) and 0 < steps[0]


def test_two_processes_count_the_same_over_memif(tmp_path):
    socket = tmp_path / "socket"
    with running(PERIGEE, "generate", "--receive", f"memif:{socket},role=server",
                 "--count", 100_000, "--json", tmp_path / "json") as receiver:
        wait_until(socket.exists, "the socket")
        sent = generate("--port", f"memif:{socket}", "--count", 100_000, "--set",
                        "udpSrc=random")["sent"]
        assert receiver.finish() == 0, receiver.said
    got = json.loads((tmp_path / "json").read_text())["received"]
    assert sent["packets"] == got["packets"] == got["numbered"] == 100_000
    assert got["lost"] == got["duplicates"] == got["reordered"] == 0
    assert got["latency_count"] == 100_000


def over_veth(here, count):
    """What was sent and received of so many packets over a veth pair."""
    veth(here, "veth0", here, "veth1")
    result = here.run(PERIGEE, "generate", "--port", "packet:veth0", "--receive",
                      "packet:veth1", "--count", count, "--rate", "20kpps", "--json", "-")
    assert result.returncode == 0, result.stderr
    results = json.loads(result.stdout)
    return results["sent"], results["received"]


def test_kernel_interfaces(namespace):
    """As few as the kernel's ring holds: none is lost, whoever has the CPU."""
    sent, got = over_veth(namespace(), 400)
    assert sent["packets"] == got["numbered"] == got["packets"] == 400
    assert got["lost"] == got["duplicates"] == got["reordered"] == 0
    assert got["latency_ns"]["min"] > 1000


def test_what_kernel_interfaces_lose_is_counted(namespace):
    sent, got = over_veth(namespace(), 5000)
    assert sent["packets"] == 5000 and got["reordered"] == 0
    assert got["numbered"] + got["lost"] - got["duplicates"] == 5000


@pytest.mark.parametrize("args", [
    ["--port", "null", "--size", "imix", "--set", "ip4Src=random", "--set",
     "udpDst=1..9", "--set", "ethSrc=random"],
    ["--port", "ring:a", "--receive", "ring:a", "--rate", "200kpps", "--arrivals",
     "poisson"],
    ["--port", "null", "--script", "examples/syn.lua", "--count", "1G"],
    ["--port", "ring:a", "--receive", "ring:a", "--rate", "50kpps", "--stream",
     "size=80", "--stream", "eth,ip6,tcp;size=200"],
])
def test_all_of_the_packet_path_is_compiled(args):
    result = perigee("doctor", "--duration", 2, "generate", *args, cwd=ROOT)
    assert_clean(result, cwd=ROOT)

# SPDX-License-Identifier: Apache-2.0
"""perigee generate: its packets as Scapy sees them, its rates, and its measurements of
what the tests do to its packets."""

import json
import re
import time

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.layers.vxlan import VXLAN

from helpers.capture import load, save
from helpers.command import PERIGEE, ROOT, perigee, running, wait_until
from helpers.doctor import assert_clean
from helpers.network import Wire, veth

RECORD = 18  # bytes behind the headers: magic, number, time
UDP4 = 42    # bytes of Ethernet, IPv4 and UDP


def generate(*args):
    """The results of a run, from its JSON."""
    result = perigee("generate", *args, "--json", "-")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def generated(path, *args):
    """The packets of a run, as bytes."""
    results = generate("--port", f"pcap:tx={path}", *args)
    packets = list(load(path))
    assert results["sent"]["packets"] == len(packets)
    assert results["sent"]["bytes"] == sum(map(len, packets))
    return packets


def rebuilt(data):
    """The packet with all its lengths and checksums computed by Scapy."""
    packet = Ether(data)
    layer = packet
    while layer:
        for field in "chksum", "len", "plen":
            if field in layer.fields:
                del layer.fields[field]
        layer = layer.payload
    return bytes(packet)


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
    for _ in range(3):
        results = generate(*ports, "--rate", f"{rate}pps", "--count", rate)
        sent = results["sent"]
        assert sent["packets"] == rate
        if "received" in results:
            assert results["received"]["packets"] == rate
            assert results["received"]["lost"] == 0
        assert sent["requested_pps"] == rate
        assert sent["pps"] <= 1.01 * rate
        if abs(sent["pps"] - rate) <= 0.01 * rate:
            return
        assert sent["kept"] < 0.995, "it says that it kept a rate which it did not"
    pytest.skip("this machine is too busy for the rate, and generate said so")


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
                     r" [\d.]+ ms late$", result.stdout, re.MULTILINE)
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


def test_kernel_interfaces(namespace):
    here = namespace()
    veth(here, "veth0", here, "veth1")
    for _ in range(3):  # where the CPU is busy, the kernel drops
        result = here.run(PERIGEE, "generate", "--port", "packet:veth0", "--receive",
                          "packet:veth1", "--count", 5000, "--rate", "20kpps",
                          "--json", "-")
        assert result.returncode == 0, result.stderr
        results = json.loads(result.stdout)
        sent, got = results["sent"], results["received"]
        assert sent["packets"] == 5000
        assert got["numbered"] + got["lost"] - got["duplicates"] == 5000
        if got["lost"] == 0:
            break
    assert got["packets"] == 5000 and got["reordered"] == 0
    assert got["latency_ns"]["min"] > 1000


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
    result = perigee("doctor", "generate", *args, "--duration", 2, cwd=ROOT)
    assert_clean(result, cwd=ROOT)


# Streams, both directions, the next hop ---------------------------------------------


STREAMS = ["--stream", "eth,ip4,udp;udpDst=53;name=dns;rate=20kpps;count=2000",
           "--stream", "eth,ip6,tcp;tcpDst=80;size=200;rate=10kpps;count=1000",
           "--stream", "eth:vlan,ip4,udp;ethVlan=7;size=100..140;name=tagged;count=500"]


def test_streams_are_sent_each_as_it_says(tmp_path):
    path = tmp_path / "out.pcap"
    results = generate("--port", f"pcap:tx={path}", *STREAMS)
    packets = [Ether(data) for data in load(path)]
    assert all(rebuilt(bytes(p)) == bytes(p) for p in packets)
    streams = {s["name"]: s["sent"] for s in results["streams"]}
    assert list(streams) == ["dns", "2", "tagged"]
    kinds = {"dns": [p for p in packets if UDP in p and p[UDP].dport == 53],
             "2": [p for p in packets if TCP in p and p[TCP].dport == 80],
             "tagged": [p for p in packets if Dot1Q in p and p[Dot1Q].vlan == 7]}
    for name, count in ("dns", 2000), ("2", 1000), ("tagged", 500):
        assert streams[name]["packets"] == len(kinds[name]) == count
        assert streams[name]["bytes"] == sum(map(len, kinds[name]))
    assert results["sent"]["packets"] == len(packets) == 3500
    assert streams["dns"]["requested_pps"] == 20000
    assert {len(p) for p in kinds["tagged"]} == set(range(100, 141))


def test_streams_are_measured_each(tmp_path):
    results = generate("--port", "ring:a", "--receive", "ring:a", *STREAMS)
    assert [s["received"]["packets"] for s in results["streams"]] == [2000, 1000, 500]
    for stream in results["streams"]:
        got = stream["received"]
        assert got["lost"] == got["duplicates"] == got["reordered"] == got["other"] == 0
        assert got["latency_count"] == stream["sent"]["packets"]
    assert results["received"]["packets"] == 3500 and results["received"]["lost"] == 0
    # What is missing is missing in its stream.
    path = tmp_path / "out.pcap"
    generate("--port", f"pcap:tx={path}", *STREAMS)
    packets = list(load(path))
    dns = [data for data in packets if Ether(data)[1].payload.dport == 53]
    for data in dns[100:105]:
        packets.remove(data)
    packets.insert(0, bytes(60))
    save(path, packets)
    results = generate("--receive", f"pcap:rx={path}", *STREAMS)
    assert [s["received"]["lost"] for s in results["streams"]] == [5, 0, 0]
    assert results["received"]["lost"] == 5 and results["received"]["other"] == 1
    text = perigee("generate", "--port", "null", *STREAMS).stdout
    assert re.search("^stream dns:\n  sent: 2,000 packets, .*\n  requested: 20.000 kpps",
                     text, re.MULTILINE)
    assert re.search("^all streams:\n  sent: 3,500 packets", text, re.MULTILINE)


def test_streams_of_a_script(tmp_path):
    script = tmp_path / "script.lua"
    script.write_text("""
        return {size = 100, count = 50, streams = {
          {name = "one", set = {"udpDst=1"}},
          {name = "two", stack = "eth,ip4,tcp", count = 20,
           packet = function (pkt, i) pkt.tcp:setDstPort(i) end},
        }}""")
    packets = [Ether(data) for data in generated(tmp_path / "out.pcap", "--script", script)]
    assert sum(UDP in p and p[UDP].dport == 1 for p in packets) == 50
    assert sorted(p[TCP].dport for p in packets if TCP in p) == list(range(20))


def test_both_directions_are_measured():
    results = generate("--port", "ring:a", "--receive", "ring:a", "--both", "--set",
                       "ip4Src=10.0.0.1", "--count", 3000, "--stream", "udpDst=53",
                       "--stream", "udpDst=80;size=99;count=100")
    for direction in results["directions"]:
        assert [s["received"]["packets"] for s in direction["streams"]] == [3000, 100]
        assert direction["sent"]["packets"] == direction["received"]["packets"] == 3100
        assert direction["received"]["lost"] == direction["received"]["other"] == 0


def test_both_directions_between_interfaces(namespace):
    here = namespace()
    veth(here, "veth0", here, "veth1")
    result = here.run(PERIGEE, "generate", "--port", "packet:veth0", "--receive",
                      "packet:veth1", "--both", "--set", "ip4Src=10.0.0.1", "--set",
                      "ip4Dst=10.0.0.2", "--rate", "2kpps", "--count", "1000")
    assert result.returncode == 0, result.stderr
    for a, b in ("veth0", "veth1"), ("veth1", "veth0"):
        assert re.search(rf"^from packet:{a} to packet:{b}:\n  sent: 1,000 packets",
                         result.stdout, re.MULTILINE), result.stdout
    assert result.stdout.count("received: 1,0") == 2, result.stdout


@pytest.mark.parametrize("own, hop, to", [
    ("10.0.0.1", "10.0.0.2", "10.1.0.1..10.1.0.5"),
    ("2001:db8::1", "2001:db8::2", "2001:db8:1::1..2001:db8:1::5")], ids=["arp", "nd"])
def test_the_next_hop_is_resolved(namespace, own, hop, to):
    here, there = namespace("h"), namespace("t")
    veth(here, "left", there, "right")
    family, length = ("ip6", 64) if ":" in own else ("ip4", 24)
    there.check("sysctl", "-qw", "net.ipv6.conf.right.disable_ipv6=0")
    there.ip("address", "add", f"{hop}/{length}", "dev", "right",
             *(["nodad"] if family == "ip6" else []))
    mac = json.loads(there.ip("-json", "link", "show", "right"))[0]["address"]
    own_mac = json.loads(here.ip("-json", "link", "show", "left"))[0]["address"]
    with Wire(there, "right") as wire:
        result = here.run(PERIGEE, "generate", "--port", "packet:left", "--resolve", hop,
                          "--stack", f"eth,{family},udp", "--set", f"{family}Src={own}",
                          "--set", f"{family}Dst={to}", "--count", "5")
        assert result.returncode == 0, result.stderr
        assert result.stdout.startswith(f"{hop} is at {mac}\n")
        frames = [Ether(data) for data in iter(lambda: wire.receive(0.5), None)]
    ours = [p for p in frames if UDP in p and b"PG" in bytes(p)]
    assert len(ours) == 5
    assert all((p.dst, p.src) == (mac, own_mac) for p in ours)


def test_nobody_answers(namespace):
    here, there = namespace("h"), namespace("t")
    veth(here, "left", there, "right")
    result = here.run(PERIGEE, "generate", "--port", "packet:left", "--resolve",
                      "10.0.0.9", "--set", "ip4Src=10.0.0.1", "--count", "5")
    assert result.returncode == 1
    assert result.stderr == ("perigee: nobody says to have 10.0.0.9: no answer from "
                             "packet:left within 3 seconds\n")


def test_it_ends_with_the_file(tmp_path):
    path = tmp_path / "out.pcap"
    generate("--port", f"pcap:tx={path}", "--count", 3000)
    began = time.monotonic()
    got = generate("--receive", f"pcap:rx={path}")["received"]
    assert got["packets"] == 3000 and got["lost"] == 0
    assert time.monotonic() - began < 30  # it has no other end


def test_a_line_each_second():
    result = perigee("generate", "--port", "ring:a", "--receive", "ring:a", "--rate",
                     "10kpps", "--duration", "3.5")
    lines = re.findall(r"^generate: \d+ s  \S+ k?pps  .* packets  received \S+ k?pps, "
                       r"lost [\d,]+  \d+%$", result.stdout, re.MULTILINE)
    assert len(lines) >= 2, result.stdout


# Scripts, and the command line ------------------------------------------------------


def test_the_examples_script(tmp_path):
    packets = generated(tmp_path / "out.pcap", "--script", ROOT / "examples/syn.lua",
                        "--count", 3000)
    for i, data in enumerate(packets):
        assert rebuilt(data) == data
        packet = Ether(data)
        assert packet[TCP].flags == "S"
        assert packet[TCP].sport == 1024 + i
        assert packet[IP].ttl == (1 if i % 100 == 0 else 64)
        assert packet[IP].src == f"10.0.{i // 256}.{i % 256}"
    assert len(packets) == 3000


def test_setup_and_lengths_of_a_script(tmp_path):
    script = tmp_path / "script.lua"
    script.write_text("""
        local base
        return {
          setup = function (options)
            base = 100
            options.set[#options.set + 1] = "udpDst=7"
          end,
          packet = function (pkt, i)
            pkt.length = base + i
            pkt.payload.uint8[20] = i
          end,
        }""")
    packets = generated(tmp_path / "out.pcap", "--script", script, "--count", 50,
                        "--size", 200)
    assert [len(data) for data in packets] == list(range(100, 150))
    for i, data in enumerate(packets):
        assert rebuilt(data) == data
        assert Ether(data)[UDP].dport == 7 and data[UDP4 + 20] == i


def test_a_scripts_error_is_told_with_its_line(tmp_path):
    script = tmp_path / "script.lua"
    script.write_text("return {packet = function (pkt)\n pkt.tcp:setSyn(1) end}")
    result = perigee("generate", "--port", "null", "--script", script, "--count", 10)
    assert result.returncode == 1
    assert "script.lua:2" in result.stderr


@pytest.mark.parametrize("length", [41, 10241, 65535])
def test_a_scripts_packets_stay_in_bounds(tmp_path, length):
    script = tmp_path / "script.lua"
    script.write_text("return {packet = function (pkt, i)"
                      f" if i == 700 then pkt.length = {length} end end}}")
    result = perigee("generate", "--port", "null", "--script", script, "--count", 9999)
    assert result.returncode == 1
    assert result.stderr.endswith(f"the script made a packet of {length} bytes; its"
                                  " headers have 42, and a packet has at most 10240\n")


def test_an_interrupt_ends_with_a_report():
    with running(PERIGEE, "generate", "--port", "ring:a", "--receive", "ring:a",
                 "--rate", "10kpps") as process:
        process.wait_for_engine()
        assert process.runs_for(0.3)
        assert process.interrupt() == 0, process.said
    assert "the rate was" in process.said
    assert "lost: 0 (0 %)" in process.said


@pytest.mark.fast
@pytest.mark.parametrize("args, sentence", [
    ([], "give --port PORT to send"),
    (["--port", "nul"], "'nul'"),
    (["--receive", "null", "--rate", "1kpps"], "--rate is for sending"),
    (["--port", "null", "--arrivals", "poisson"], "--arrivals needs a --rate"),
    (["--port", "null", "--set", "udpDst=70000"],
     "udpDst: '70000' isn't a whole number from 0 to 65535; allowed are one value,"),
    (["--port", "null", "--set", "udpDts=7"], "is 'udpDst' meant?"),
    (["--port", "null", "--set", "ip4Src=10.0.0"], "an IPv4 address such as 10.0.0.1"),
    (["--port", "null", "--stack", "eth,ip4,foo"], "there is no protocol 'foo'"),
    (["--port", "null", "--set", "udpDst=1..4", "--flows", "5"], "not 5 flows"),
    (["--port", "null", "--size", "41"], "too short for the headers"),
    (["--port", "null", "--size", "many"], "'many' isn't a size"),
    (["--port", "null", "--rate", "10"], "'10' isn't a rate"),
    (["--port", "null", "--script", "/no/such/file"], "/no/such/file"),
    (["--port", "null", "--count", "0"], "--count: 0 packets would be nothing to do"),
    (["--port", "null", "--stream", "eth,ip4,udp;rte=1kpps"], "is 'rate' meant?"),
    (["--port", "null", "--both"], "--both needs --port and --receive"),
    (["--port", "null", "--receive", "null", "--both"], "--both is for two ports"),
    (["--port", "null", "--resolve", "10.0.0.1"], "needs a source address to ask with"),
    (["--port", "null", "--resolve", "10.0.0"], "'10.0.0' isn't the IP address"),
    (["--receive", "null", "--resolve", "10.0.0.1"], "--resolve is for sending"),
    (["--port", "ring:a", "--receive", "ring:a", "--stream", "size=50", "--stream",
      "size=60"], "packets of stream 1 have no room for a number"),
])
def test_wrong_arguments_get_a_sentence(args, sentence):
    result = perigee("generate", *args)
    assert result.returncode == 2
    assert re.fullmatch(rf"perigee: .*{re.escape(sentence)}.*\n", result.stderr)

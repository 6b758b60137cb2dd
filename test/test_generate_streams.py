# SPDX-License-Identifier: Apache-2.0
"""perigee generate: several streams, both directions, the next hop, and the end."""

import json
import re
import time

import pytest
from scapy.layers.inet import TCP, UDP
from scapy.layers.l2 import Dot1Q, Ether

from helpers.capture import load, save
from helpers.command import PERIGEE, perigee
from helpers.generate import generate, generated, rebuilt
from helpers.network import Wire, veth

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


def test_payloads_are_carried(tmp_path):
    (tmp_path / "query").write_bytes(bytes(range(40)))
    packets = generated(tmp_path / "out.pcap", "--count", "3", "--payload", "hex:ca fe:01",
                        "--stream", "eth,ip4,udp", "--stream", "eth,ip6,tcp;payload=GET /",
                        "--stream", f"eth,ip4,udp;payload=file:{tmp_path}/query")
    assert all(rebuilt(data) == data for data in packets)
    payloads = {bytes(Ether(data)[2].payload) for data in packets}
    assert payloads == {b"\xca\xfe\x01", b"GET /", bytes(range(40))}, payloads
    script = tmp_path / "script.lua"
    script.write_text('return {payload = "text:hex:", streams = {{name = "a"}}}')
    [data] = generated(tmp_path / "out.pcap", "--count", "1", "--script", script)
    assert bytes(Ether(data)[UDP].payload) == b"hex:"
    results = generate("--port", "ring:a", "--receive", "ring:a", "--count", "1000",
                       "--stream", "eth,ip4,udp;payload=a",
                       "--stream", "eth,ip4,udp;payload=ab")
    for stream in results["streams"]:
        assert stream["received"]["numbered"] == 1000 and not stream["received"]["lost"]


def test_all_packets_of_a_mix_with_a_payload_are_measured(tmp_path):
    for payload in "GET", "GET /", "hex:" + 40 * "5047":
        for words in ["--size", "imix"], ["--size", "60..140/8"]:
            results = generate("--port", "ring:a", "--receive", "ring:a", "--count", "200",
                               "--payload", payload, *words)
            assert results["received"]["latency_count"] == 200, results
            assert results["received"]["lost"] == results["received"]["other"] == 0
    script = tmp_path / "script.lua"
    script.write_text("""return {packet = function (pkt, i)
      if i % 2 == 0 then pkt.payload.uint8[0] = 7 end
    end}""")
    words = "--port", "ring:a", "--receive", "ring:a", "--count", "200", "--script", script
    got = generate(*words)["received"]
    assert (got["packets"], got["numbered"], got["lost"]) == (200, 100, 0)
    assert "the script has changed numbers or times" in perigee("generate", *words).stdout


def test_checksums_of_odd_payloads_in_many_streams(tmp_path):
    streams = [word for i in range(32) for word in ("--stream", f"payload=abc;name=s{i}")]
    packets = generated(tmp_path / "out.pcap", "--count", "3", "--size", "64,100", *streams)
    assert len(packets) == 96 and all(rebuilt(data) == data for data in packets)


@pytest.mark.parametrize("stream, reason", [
    ("eth,ip4;size=20", "stream 2: a packet of 20 bytes is too short"),
    ("eth,ip4;name=web;tcpDst=1", "stream web: no header of the stack has a field 'tcpDst'"),
    ("eth,ipx;name=web", "stream web: the stack 'eth,ipx' can't be made"),
    ("eth,ip4;name=web;payload=hex:f", "payload: hex: takes two hexadecimal digits"),
    ("eth,ip4;name=web;arrivals=poisson", "stream web: --arrivals needs a --rate")])
def test_a_stream_that_is_refused_is_named(stream, reason):
    result = perigee("generate", "--port", "null", "--stream", "eth,ip4,udp",
                     "--stream", stream)
    assert result.returncode == 2 and reason in result.stderr, result.stderr
    assert "generator" not in result.stderr


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
    there.sysctl("net.ipv6.conf.right.disable_ipv6=0")
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

# SPDX-License-Identifier: Apache-2.0
"""perigee generate: scripts, and the command line."""

import re

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether

from helpers.command import PERIGEE, ROOT, perigee, running
from helpers.generate import generated, rebuilt

UDP4 = 42  # bytes of Ethernet, IPv4 and UDP


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
      "size=60"], "stream 1: its packets have no room for a number"),
])
def test_wrong_arguments_get_a_sentence(args, sentence):
    result = perigee("generate", *args)
    assert result.returncode == 2
    assert re.fullmatch(rf"perigee: .*{re.escape(sentence)}.*\n", result.stderr)

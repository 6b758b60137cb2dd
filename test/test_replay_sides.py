# SPDX-License-Identifier: Apache-2.0
"""replay that parts a capture onto two ports, by clients and servers. tcpprep says what is
right, where it is installed."""

import json
import re
import shutil
import subprocess

import pytest
from scapy.layers.inet import IP, UDP, fragment
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

from helpers.command import perigee
from helpers.replayed import (
    A, B, CLIENT, ETHER, MAPS, SERVER, back, load, save, split, tcp, there,
    wrong_checksums)


def conversations():
    """Two of TCP, one of UDP, an ARP, an ICMP error, fragments; who has sent each."""
    pairs = [(there(tcp(5555, 80, "S")), "c"), (back(tcp(80, 5555, "SA")), "s"),
             (there(tcp(5555, 80, "A")), "c"), (back(tcp(80, 5555, "A", b"page")), "s"),
             (there(tcp(5555, 80, "A")), "c"),
             (there(UDP(sport=4000, dport=53) / bytes(40)), "c"),
             (back(UDP(sport=53, dport=4000) / bytes(40)), "s"),
             (ETHER / ARP(psrc=CLIENT, pdst=SERVER), "c"),
             (Ether(src=B, dst=A) / ARP(op=2, psrc=SERVER, pdst=CLIENT), "s")]
    pairs += [(Ether(src=B, dst=A) / p, "s") for p in fragment(
        IP(src=SERVER, dst=CLIENT) / UDP(sport=53, dport=4000) / Raw(bytes(2000)), 1000)]
    return [Ether(bytes(p)) for p, _ in pairs], [side for _, side in pairs]


@pytest.mark.parametrize("how", [[], ["--sides", "port"],
                                 ["--sides", "ip=10.9.0.0/16,2001:db8:2::/48"],
                                 ["--sides", f"mac={B}"]])
@pytest.mark.parametrize("speed", [["--topspeed"], ["--speed", "10"]])
def test_two_sides(tmp_path, how, speed):
    packets, sides = conversations()
    found, said = split(tmp_path, packets, *speed, *how)
    wanted = [[bytes(p) for p, side in zip(packets, sides) if side == s] for s in "cs"]
    assert found == wanted
    assert re.search(rf"from clients, to pcap:\S+: {sides.count('c')} packets", said)
    assert re.search(rf"from servers, to pcap:\S+: {sides.count('s')} packets", said)


def test_who_begins_is_the_client_whatever_the_ports(tmp_path):
    packets = [there(tcp(80, 50000, "S")), back(tcp(50000, 80, "SA")),
               there(tcp(80, 50000, "A"))]
    found, _ = split(tmp_path, packets, "--topspeed")
    assert [len(f) for f in found] == [2, 1]
    found, _ = split(tmp_path, packets, "--topspeed", "--sides", "port")
    assert [len(f) for f in found] == [1, 2]


def test_sides_are_those_of_tcpprep(tmp_path):
    """But that of its --cidr, which takes what matches for the first."""
    if not shutil.which("tcpprep"):
        pytest.skip("there is no tcpprep (Debian's tcpreplay)")
    packets = [p for p in conversations()[0] if IP in p and p[IP].frag == 0]
    file = save(tmp_path / "in.pcap", packets)
    for ours, theirs in [("port", ["--port"]), ("ip=10.9.0.0/16", ["--cidr=10.9.0.0/16"]),
                         ("syn", ["--auto=client"])]:
        cache = tmp_path / "cache"
        subprocess.run(["tcpprep", *theirs, "-i", file, "-o", cache], check=True,
                       timeout=60, capture_output=True)
        told = subprocess.run(["tcpprep", "-I", cache], text=True, capture_output=True,
                              timeout=60, check=True).stdout
        found, _ = split(tmp_path, packets, "--topspeed", "--sides", ours)
        sides = re.findall(r"Packet \d+ -> (Primary|Secondary)", told)
        if theirs[0].startswith("--cidr"):
            found.reverse()
        assert len(sides) == len(packets), told
        assert found == [[bytes(p) for p, side in zip(packets, sides) if side == s]
                         for s in ("Primary", "Secondary")], theirs


def test_the_order_of_a_conversation_is_kept(tmp_path):
    """Both sides leave by one interface: there the order can be seen."""
    packets, sides = conversations()
    file = save(tmp_path / "in.pcap", packets * 40)
    script, out = tmp_path / "graph.lua", tmp_path / "out.pcap"
    script.write_text(f"""
local TwoSides = require("apps.pcap.two_sides").TwoSides
local Join = require("apps.basic.basic_apps").Join
local PcapWriter = require("apps.pcap.pcap").PcapWriter
local c = config.new()
config.app(c, "source", TwoSides, {{filename = "{file}", sides = "syn"}})
config.app(c, "join", Join)
config.app(c, "out", PcapWriter, "{out}")
config.link(c, "source.client -> join.client")
config.link(c, "source.server -> join.server")
config.link(c, "join.output -> out.input")
engine.configure(c)
engine.main{{done = function () return engine.app_table.source.done end, no_report = true}}
engine.main{{duration = 0.05, no_report = true}}
""")
    result = perigee("run", script)
    assert result.returncode == 0, result.stderr
    assert [bytes(p) for p in load(out)] == [bytes(p) for p in packets * 40]


def test_two_sides_rewritten_from_a_compressed_file(tmp_path):
    packets, sides = conversations()
    file, results = save(tmp_path / "in.pcap", packets), tmp_path / "r.json"
    subprocess.run(["gzip", file], check=True)
    outs = [tmp_path / "c.pcap", tmp_path / "s.pcap"]
    result = perigee("replay", "--loop", 3, "--topspeed", *MAPS, "--json", results,
                     f"{file}.gz", *(f"pcap:tx={o}" for o in outs))
    assert result.returncode == 0, result.stderr
    assert all(wrong_checksums(o) == [] for o in outs)
    report = json.loads(results.read_text())["replay"]
    assert report["packets"] == 3 * len(packets)
    assert [s["packets"] for s in report["sides"]] == [3 * sides.count(s) for s in "cs"]
    assert report["rewritten"] == {"changed": 3 * len(packets), "stale_checksums": 0}

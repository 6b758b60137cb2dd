# SPDX-License-Identifier: Apache-2.0
"""The kernel pings a host of Perigee's apps (ip_host.lua) with packets that both cut into
fragments and put together, each what the other has cut; and Scapy's fragments."""

import re

import pytest

from helpers.command import PERIGEE, ROOT, running, wait_until
from helpers.network import veth

HOST = ROOT / "test" / "ip_host.lua"


@pytest.fixture(params=[1500, 1280])
def peer(request, namespace):
    """A namespace on whose link the host answers, with this MTU."""
    kernel, middle = namespace("k"), namespace("m")
    veth(middle, "left", kernel, "net")
    kernel.sysctl("net.ipv6.conf.net.disable_ipv6=0",
                  "net.ipv6.conf.net.accept_dad=0")
    kernel.ip("address", "add", "10.0.0.1/24", "dev", "net")
    kernel.ip("address", "add", "fd00::1/64", "dev", "net", "nodad")
    kernel.ip("link", "set", "net", "mtu", request.param)
    with running(*middle.command(PERIGEE, "run", HOST, "packet:left", "10.0.0.1",
                                 request.param)) as program:
        def answers():
            assert program.read(), program.said
            return kernel.run("ping", "-nc1", "-W1", "10.0.0.2").returncode == 0
        wait_until(answers, "a first ping", timeout=20)
        yield kernel
        assert program.interrupt() == 0, program.said


@pytest.mark.parametrize("address", ["10.0.0.2", "fd00::2"])
def test_pings_of_all_sizes(peer, address):
    # 9,000: in 7 or 8 fragments each way. The pattern shows what is out of place.
    for size in 0, 56, 1232, 1233, 1452, 1453, 1472, 1473, 2960, 5000, 9000:
        result = peer.run("ping", "-n", "-c", "3", "-i", "0.02", "-w", "5",
                          "-p", "0123456789abcdef", "-s", str(size), address)
        assert result.returncode == 0, result.stdout
        # -w waits for three answers (-W for twice the time of one): one that is late
        # for the next question is no loss, and then more are asked.
        received = re.search(r"(\d+) received", result.stdout)
        assert received and int(received[1]) >= 3, result.stdout
        assert "wrong data" not in result.stdout


def test_scapy_agrees(tmp_path):
    """Scapy puts together what Perigee cut, and the other way."""
    scapy = pytest.importorskip("scapy.all")
    from helpers.command import perigee
    payload = bytes(i * 31 % 256 for i in range(4000))
    ether = scapy.Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    ip4 = scapy.IP(src="10.0.0.1", dst="10.0.0.2", id=5) / scapy.UDP() / payload
    ip6 = (scapy.IPv6(src="fd00::1", dst="fd00::2")
           / scapy.IPv6ExtHdrFragment(id=9) / scapy.UDP() / payload)
    cut = ([ether / p for p in scapy.fragment(ip4, 800)][::-1]
           + [ether / p for p in scapy.fragment6(ip6, 1280)][::-1])
    scapy.wrpcap(str(tmp_path / "in.pcap"), cut)
    script = tmp_path / "through.lua"
    script.write_text("""
local pcap = require("apps.pcap.pcap")
local c = config.new()
config.app(c, "reader", pcap.PcapReader, "in.pcap")
config.app(c, "whole4", require("apps.ipv4.reassemble").Reassembler, {})
config.app(c, "whole6", require("apps.ipv6.reassemble").Reassembler, {})
config.app(c, "tee", require("apps.basic.basic_apps").Tee)
config.app(c, "cut4", require("apps.ipv4.fragment").Fragmenter, {mtu = 700})
config.app(c, "cut6", require("apps.ipv6.fragment").Fragmenter, {mtu = 1300})
config.app(c, "whole", pcap.PcapWriter, "whole.pcap")
config.app(c, "cut", pcap.PcapWriter, "cut.pcap")
for _, text in ipairs{"reader.output -> whole4.input", "whole4.output -> whole6.input",
    "whole6.output -> tee.input", "tee.a -> whole.input", "tee.b -> cut4.input",
    "cut4.output -> cut6.input", "cut6.output -> cut.input"} do config.link(c, text) end
engine.configure(c)
engine.main{duration = 0.2, no_report = true}
""")
    result = perigee("run", script, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    whole = scapy.rdpcap(str(tmp_path / "whole.pcap"))
    assert [bytes(p[scapy.UDP].payload) for p in whole] == [payload, payload]
    assert whole[0][scapy.IP].chksum == scapy.IP(bytes(
        scapy.IP(src="10.0.0.1", dst="10.0.0.2", id=0) / scapy.UDP() / payload)).chksum
    parts = scapy.rdpcap(str(tmp_path / "cut.pcap"))
    ours4 = [p for p in parts if scapy.IP in p]
    ours6 = [p[scapy.IPv6] for p in parts if scapy.IPv6 in p]
    assert len(ours4) == 6 and len(ours6) == 4
    again, = scapy.defragment(ours4)
    assert bytes(again[scapy.UDP].payload) == payload
    assert bytes(scapy.defragment6(ours6))[48:] == payload  # IPv6, UDP

# SPDX-License-Identifier: Apache-2.0
"""libmoon's tasks that answer ARP and ping, against the kernel; savefiles and filters
of scripts, against tcpdump."""

import shutil

import pytest
from scapy.all import ARP, IP, TCP, UDP, Dot1Q, Ether, IPv6, rdpcap, wrpcap

from helpers.command import PERIGEE, ROOT, check, perigee, running
from helpers.network import veth

SCRIPTS = ROOT / "examples" / "moongen"


@pytest.fixture
def host(namespace):
    """A namespace and, on the link to it, a script's host that has looked it up."""
    kernel, middle = namespace("k"), namespace("m")
    veth(middle, "left", kernel, "net")
    kernel.ip("address", "add", "10.0.0.1/24", "dev", "net")
    with running(*middle.command(PERIGEE, "moongen", "--port", "0=packet:left",
                                 SCRIPTS / "host.lua", 0, "10.0.0.2", "-l",
                                 "10.0.0.1")) as program:
        program.wait_for("ready")
        yield kernel, program
        assert program.interrupt() == 0, program.said


def test_arp_and_ping(host):
    kernel, program = host
    mac = kernel.check("cat", "/sys/class/net/net/address").strip()
    assert f"10.0.0.1 is at {mac}\n" in program.said
    kernel.ip("neigh", "flush", "dev", "net")  # so that it asks
    for size in 0, 56, 1400:
        result = kernel.run("ping", "-n", "-c", "5", "-i", "0.05", "-w", "10", "-p", "5a",
                            "-s", str(size), "10.0.0.2")
        assert " 5 received" in result.stdout, result.stdout
        assert "wrong data" not in result.stdout
    assert " lladdr " in kernel.check("ip", "neigh", "show", "10.0.0.2")


def packets():
    """Frames that filters tell apart."""
    ether = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    for i in range(100):
        payload = bytes(i)
        yield ether / IP() / UDP(sport=1000 + i, dport=53 if i % 3 else 1234) / payload
        yield ether / IP() / TCP(dport=80, flags="S") / payload
    yield ether / ARP()
    yield ether / IPv6() / UDP(dport=53)
    yield ether / Dot1Q(vlan=5) / IP() / UDP(dport=53)


@pytest.mark.skipif(not shutil.which("tcpdump"), reason="needs tcpdump")
@pytest.mark.parametrize("expression", ["udp port 53", "tcp or arp", "vlan and udp",
                                        "len > 100", "ip6"])
def test_savefiles_and_filters(tmp_path, expression):
    whole, ours, theirs = (str(tmp_path / name) for name in ("in", "ours", "theirs"))
    frames = list(packets())
    for i, frame in enumerate(frames):
        frame.time = 1700000000 + i * 0.001001
    wrpcap(whole, frames)
    said = perigee("moongen", SCRIPTS / "select.lua", whole, ours, expression)
    assert (said.returncode, said.stderr) == (0, "")
    check("tcpdump", "-r", whole, "-w", theirs, *expression.split(), stderr=None)
    found, wanted = rdpcap(ours), rdpcap(theirs)
    assert f"{len(wanted)} packets selected" in said.stdout
    assert [bytes(p) for p in found] == [bytes(p) for p in wanted]
    for p, q in zip(found, wanted):
        assert abs(p.time - q.time) <= 1e-6


LEFT_OPEN = """
local lm, memory, pcap = require "libmoon", require "memory", require "pcap"
function write(file)
  local bufs = memory.createMemPool():bufArray(1)
  bufs:alloc(60)
  pcap:newWriter(file, 0):writeBuf(0, bufs[1])
  bufs:freeAll()
end
function fail(file)
  write(file)
  error("on purpose")
end
function master(file, how)
  if how == "task" then lm.startTask("write", file):wait() else _G[how](file) end
end
"""


@pytest.mark.parametrize("how", ["write", "task", "fail"])
def test_savefiles_that_are_left_open(tmp_path, how):
    """What scripts wrote is in the file however they end; else that is told."""
    script = tmp_path / "script.lua"
    script.write_text(LEFT_OPEN)
    said = perigee("moongen", script, tmp_path / "out", how)
    assert said.returncode == (how == "fail"), said.stderr
    [packet] = rdpcap(str(tmp_path / "out"))
    assert len(packet) == 60
    said = perigee("moongen", script, "/dev/full", how)
    assert said.returncode == 1
    assert said.stderr.count("/dev/full: No space left on device") == 1


def test_cut_and_damaged_files(tmp_path):
    """Cut packets keep their length; what can't be read is told in a sentence."""
    wrpcap(str(tmp_path / "in"), [Ether() / IP() / UDP() / bytes(range(200))])
    said = perigee("moongen", SCRIPTS / "select.lua", "in", "out", "udp", "-s", 60,
                   cwd=tmp_path)
    assert (said.returncode, said.stderr) == (0, "")
    [cut] = rdpcap(str(tmp_path / "out"))
    assert (len(cut), cut.wirelen) == (60, 242)
    (tmp_path / "text").write_text("no savefile")
    for args, sentence in [
            (("nowhere", "out", "udp"), "can't read nowhere: No such file"),
            (("text", "out", "udp"), "text is neither a pcap nor a pcapng file"),
            (("in", "out", "udp prt"), "'udp prt' is no packet filter")]:
        said = perigee("moongen", SCRIPTS / "select.lua", *args, cwd=tmp_path)
        assert said.returncode != 0
        assert sentence in said.stderr
        assert "traceback" not in said.stderr

# SPDX-License-Identifier: Apache-2.0
"""record --ipfix: what collectors get, against flows counted from the same packets here;
nfcapd and tshark read it."""

import os
import shutil
import signal
import socket

import pytest
from scapy.layers.inet import IP, UDP
from scapy.packet import Raw

from helpers.capture import save
from helpers.command import PERIGEE, check, perigee, run, running, tool, wait_until
from helpers.flow_packets import ETHER, capture_of, flows_of, packets, told
from helpers.report import number

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts or makes interfaces")
COUNT = 1500


def collected(folder):
    """nfdump's flows, as key_of has them but for VLANs: {key: [packets, bytes]}."""
    found = {}
    for file in folder.glob("nfcapd.*"):
        text = run(tool("nfdump"), "-q", "-6", "-N", "-r", file, "-o",
                   "fmt:%sa|%da|%pr|%sp|%dp|%svln|%pkt|%byt").stdout
        for line in text.splitlines():
            words = [word.strip() for word in line.split("|")]
            if len(words) == 8:
                source, to, protocol, sport, dport, vlan, count, size = words
                if "." in dport:
                    dport = int(dport.split(".")[0]) * 256 + int(dport.split(".")[1])
                key = (source, to, int(protocol), int(sport), int(dport), int(vlan))
                before = found.get(key, (0, 0))
                found[key] = (before[0] + int(count), before[1] + int(size))
    return found


def without_inner_tags(flows):
    found = {}
    for key, (count, size, _) in flows.items():
        before = found.get(key[:6], (0, 0))
        found[key[:6]] = (before[0] + count, before[1] + size)
    return found


def listens(namespace, port):
    return f":{port:04X} " in namespace.run("cat", "/proc/net/udp").stdout


@pytest.fixture
def inside(namespace):
    return namespace("f")


@needs_root
def test_a_collector_gets_every_flow(inside, tmp_path):
    if not shutil.which("nfcapd", path=os.environ["PATH"] + ":/usr/sbin"):
        pytest.fail("nfcapd is missing: `make test` installs it (nfdump)")
    traffic, records = packets(COUNT), tmp_path / "records"
    records.mkdir()
    with running(*inside.command(tool("nfcapd"), "-p", "4739", "-b", "127.0.0.1", "-w",
                                    records, "-t", "3600")) as nfcapd:
        wait_until(lambda: listens(inside, 4739), "nfcapd")
        result = run(*inside.command(
            PERIGEE, "record", "--ipfix", "127.0.0.1", "--flows", tmp_path / "flows",
            f"pcap:rx={capture_of(tmp_path, traffic)}"), cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        sent = number(r"IPFIX to 127.0.0.1: ([\d,]+) flows", result.stdout)
        nfcapd.interrupt(signal.SIGTERM)
    expected = flows_of(traffic)
    assert sent == len(expected)
    assert collected(records) == without_inner_tags(expected)
    assert "Sequence Errors: 0, Bad Packets: 0" in nfcapd.said
    assert told(tmp_path / "flows") == expected


def dump_of(tmp_path, messages):
    """The messages as a capture file that tshark takes for IPFIX."""
    frames = [bytes(ETHER / IP(src="10.0.0.1", dst="10.0.0.2")
                    / UDP(sport=9, dport=4739) / Raw(m)) for m in messages]
    return save(tmp_path / "ipfix.pcap", frames)


def test_messages_are_as_the_standard_says(tmp_path):
    """As tshark reads them: templates first, sequence numbers that count records."""
    traffic, messages = packets(1000, seed=2), []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as collector:
        collector.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        collector.bind(("127.0.0.1", 0))
        result = perigee("record", "--ipfix", "127.0.0.1:%d" % collector.getsockname()[1],
                         f"pcap:rx={capture_of(tmp_path, traffic)}", cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        collector.setblocking(False)
        try:
            while True:
                messages.append(collector.recv(65536))
        except BlockingIOError:
            pass
    expected = flows_of(traffic)
    assert max(map(len, messages)) <= 1400
    assert len(messages) == number(r"flows in ([\d,]+) messages", result.stdout)
    capture = dump_of(tmp_path, messages)
    assert not check("tshark", "-r", capture, "-Y", "_ws.malformed || _ws.expert").strip()
    text = check("tshark", "-r", capture, "-Y", "cflow", "-T", "fields", "-E",
                 "occurrence=a", "-e", "cflow.sequence", "-e", "cflow.packets", "-e",
                 "cflow.octets", "-e", "cflow.flowset_id")
    sequence, octets = 0, 0
    rows = [line.split("\t") for line in text.splitlines()]
    assert rows[0][3] == "2,2"
    for row in rows:
        assert int(row[0]) == sequence
        sizes = [int(n) for n in row[2].split(",") if n]
        sequence, octets = sequence + len(sizes), octets + sum(sizes)
    assert sequence == len(expected)
    assert octets == sum(size for _, size, _ in expected.values())


@needs_root
def test_what_cannot_be_sent_is_told(inside, tmp_path):
    """Nobody listens; and no way there."""
    capture = capture_of(tmp_path, packets(1000))
    refused = run(*inside.command(PERIGEE, "record", "--ipfix", "127.0.0.1:4740",
                                     f"pcap:rx={capture}"), cwd=tmp_path)
    assert refused.returncode == 0
    assert number(r"([\d,]+) messages refused: nothing listens", refused.stdout) > 1
    assert refused.stderr.count("Connection refused") == 1
    nowhere = run(*inside.command(PERIGEE, "record", "--ipfix", "192.0.2.1:4739",
                                     f"pcap:rx={capture}"), cwd=tmp_path)
    assert nowhere.returncode == 1
    assert "'192.0.2.1:4739' can't be reached" in nowhere.stderr
    assert nowhere.stderr.count("\n") == 1

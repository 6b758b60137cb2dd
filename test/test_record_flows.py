# SPDX-License-Identifier: Apache-2.0
"""record --flows and --ipfix: what is told of flows, against flows counted from the same
packets here; nfcapd and tshark read the IPFIX."""

import collections
import json
import os
import random
import shutil
import signal
import socket

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP, fragment
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Raw

from helpers.capture import save
from helpers.command import PERIGEE, check, perigee, run, running, tool, wait_until
from helpers.control import Client, wait_for_socket
from helpers.network import Namespace, Wire, veth
from helpers.report import number
from helpers.sandbox import environment, folder_for_all, is_entered
from helpers.schema import valid

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts or makes interfaces")
ETHER = Ether(src="00:11:22:33:44:55", dst="50:44:33:22:11:00")
COUNT = 1500
LETTERS = dict(zip("FSRPAUEC", range(8)))


def packet(dice):
    """A packet of one of some hundreds of flows."""
    size = Raw(bytes(dice.randrange(200)))
    ports = dict(sport=dice.randrange(1, 20), dport=dice.choice((53, 443)))
    ends = dict(src=f"10.0.0.{dice.randrange(1, 6)}", dst="198.51.100.7")
    if dice.random() < 0.3:
        ends = dict(src=f"2001:db8::{dice.randrange(1, 6):x}", dst="2001:db8:1::7")
    ip = (IPv6 if ":" in ends["src"] else IP)(**ends)
    kind = dice.random()
    if kind < 0.45:
        l4 = TCP(flags=dice.choice(("A", "PA", "S", "SA", "AU")), **ports) / size
    elif kind < 0.9:
        l4 = UDP(**ports) / size
    else:
        l4 = (ICMPv6EchoRequest() if isinstance(ip, IPv6) else ICMP(type=8)) / size
    tag = [ETHER, ETHER / Dot1Q(vlan=7), ETHER / Dot1Q(vlan=9) / Dot1Q(vlan=7)]
    return dice.choices(tag, (8, 1, 1))[0] / ip / l4


def packets(count, seed=1):
    dice = random.Random(seed)
    return [packet(dice) for _ in range(count)]


def key_of(p):
    ip = p.getlayer(IP) or p.getlayer(IPv6)
    l4 = ip.payload
    tags = [layer.vlan for layer in (p.getlayer(Dot1Q, 1), p.getlayer(Dot1Q, 2)) if layer]
    tags += [0] * (2 - len(tags))
    protocol = ip.proto if isinstance(ip, IP) else ip.nh
    if protocol in (1, 58):
        ports = (0, l4.type * 256 + l4.code)
    else:
        ports = (l4.sport, l4.dport)
    return (ip.src, ip.dst, protocol, *ports, *tags)


def flows_of(list_of_packets):
    """{key: (packets, bytes of IP, TCP flags)}"""
    found = {}
    for p in list_of_packets:
        key, ip = key_of(p), p.getlayer(IP) or p.getlayer(IPv6)
        count, size, flags = found.get(key, (0, 0, 0))
        more = int(p[TCP].flags) if p.haslayer(TCP) else 0
        found[key] = (count + 1, size + len(bytes(ip)), flags | more)
    return found


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def key_of_line(line):
    ports = (line.get("source_port", 0),
             line.get("destination_port", line.get("icmp_type", 0) * 256
                      + line.get("icmp_code", 0)))
    return (line["source"], line["destination"], line["protocol"], *ports,
            line.get("vlan", 0), line.get("inner_vlan", 0))


def told(path):
    found, lines = {}, lines_of(path)
    for line in lines[:3] + lines[-3:]:
        valid("flow", json.dumps(line))
    for line in lines:
        key = key_of_line(line)
        flags = sum(1 << LETTERS[letter] for letter in line.get("tcp_flags", ""))
        assert key not in found
        found[key] = (line["packets"], line["bytes"], flags)
    return found


def capture_of(tmp_path, list_of_packets):
    return save(tmp_path / "in.pcap", [bytes(p) for p in list_of_packets])


def test_each_flow_is_a_line_with_all_its_packets(tmp_path):
    traffic, flows = packets(COUNT), tmp_path / "flows"
    result = perigee("record", "--flows", flows, "--json", "-",
                     f"pcap:rx={capture_of(tmp_path, [*traffic, ETHER / ARP()])}",
                     cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    expected = flows_of(traffic)
    assert len(expected) > 100
    assert told(flows) == expected
    report = valid("record", result.stdout)
    counts = report["record"]["flows"]
    assert (counts["flows"], counts["packets"], counts["not_ip"]) == (len(expected), COUNT, 1)
    assert counts["file"] == {"file": str(flows), "written": len(expected),
                              "not_written": 0}
    assert sum(counts["ended"].values()) == len(expected)
    counters = report["apps"]["recorder"]["counters"]
    assert counters["flows"] == len(expected) and counters["flow_packets_not_ip"] == 1
    assert f"flows: {len(expected):,}, of {COUNT:,} packets" in result.stderr


def test_fragments_count_but_only_the_first_has_ports(tmp_path):
    whole = ETHER / IP(src="10.0.0.1", dst="10.0.0.2", id=7) / UDP(sport=5, dport=6) \
        / Raw(bytes(3000))
    pieces = fragment(whole, fragsize=1000)
    result = perigee("record", "--flows", tmp_path / "flows",
                     f"pcap:rx={capture_of(tmp_path, pieces)}", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    found = {key[3:5]: counts[:2] for key, counts in told(tmp_path / "flows").items()}
    sizes = [len(bytes(p[IP])) for p in pieces]
    assert found == {(5, 6): (1, sizes[0]), (0, 0): (len(pieces) - 1, sum(sizes[1:]))}
    assert f"{len(pieces) - 1} fragments without ports" in result.stdout


@pytest.mark.parametrize("policy", ["evict", "refuse"])
def test_a_full_table_is_told_and_no_packet_is_uncounted(policy, tmp_path):
    traffic, flows = packets(COUNT), tmp_path / "flows"
    result = perigee("record", "--flows", flows, "--flow-limit", "20", "--flow-full",
                     policy, "--json", "-", f"pcap:rx={capture_of(tmp_path, traffic)}",
                     cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    counts = valid("record", result.stdout)["record"]["flows"]
    lines = lines_of(flows)
    assert sum(line["packets"] for line in lines) + counts["refused"] == COUNT
    if policy == "refuse":
        assert counts["refused"] > 500 and len(lines) == 20
        assert "packets of no flow, as the table was full" in result.stderr
    else:
        assert counts["refused"] == 0
        assert collections.Counter(line["end"] for line in lines)["evicted"] \
            == counts["ended"]["evicted"] > 100


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
def namespace():
    place = Namespace("f")
    yield place
    place.remove()


@needs_root
def test_a_collector_gets_every_flow(namespace, tmp_path):
    if not shutil.which("nfcapd", path=os.environ["PATH"] + ":/usr/sbin"):
        pytest.fail("nfcapd is missing: `make test` installs it (nfdump)")
    traffic, records = packets(COUNT), tmp_path / "records"
    records.mkdir()
    with running(*namespace.command(tool("nfcapd"), "-p", "4739", "-b", "127.0.0.1", "-w",
                                    records, "-t", "3600")) as nfcapd:
        wait_until(lambda: listens(namespace, 4739), "nfcapd")
        result = run(*namespace.command(
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
def test_what_cannot_be_sent_is_told(namespace, tmp_path):
    """Nobody listens; and no way there."""
    capture = capture_of(tmp_path, packets(1000))
    refused = run(*namespace.command(PERIGEE, "record", "--ipfix", "127.0.0.1:4740",
                                     f"pcap:rx={capture}"), cwd=tmp_path)
    assert refused.returncode == 0
    assert number(r"([\d,]+) messages refused: nothing listens", refused.stdout) > 1
    assert refused.stderr.count("Connection refused") == 1
    nowhere = run(*namespace.command(PERIGEE, "record", "--ipfix", "192.0.2.1:4739",
                                     f"pcap:rx={capture}"), cwd=tmp_path)
    assert nowhere.returncode == 1
    assert "'192.0.2.1:4739' can't be reached" in nowhere.stderr
    assert nowhere.stderr.count("\n") == 1


@needs_root
def test_a_full_disk_keeps_whole_lines_and_counts_the_others(tmp_path):
    traffic, disk, copy = packets(COUNT), tmp_path / "disk", tmp_path / "copy"
    disk.mkdir()
    result = run("unshare", "-m", "sh", "-c", f"""
        mount -t tmpfs -o size=32k tmpfs {disk} || exit 99
        {PERIGEE} record --flows {disk}/flows pcap:rx={capture_of(tmp_path, traffic)}
        status=$?; cp {disk}/flows {copy}; exit $status""", cwd=tmp_path)
    assert result.returncode == 1
    assert "No space left on device" in result.stderr
    lines, expected = told(copy), flows_of(traffic)
    assert 20 < len(lines) < len(expected)
    assert all(expected[key] == counts for key, counts in lines.items())
    assert len(lines) + number(r"([\d,]+) flows that the file couldn't take",
                               result.stdout) == len(expected)


@pytest.fixture
def wire():
    """A namespace with the port `one`, and a wire to it."""
    inside, outside = Namespace("in"), Namespace("out")
    try:
        veth(inside, "one", outside, "to_one")
        with Wire(outside, "to_one") as one:
            yield inside, one
    finally:
        inside.remove()
        outside.remove()


def statistics(process):
    client = Client(wait_for_socket(process))
    try:
        return valid("record-statistics", json.dumps(client.ask(do="statistics")["answer"]))
    finally:
        client.close()


@needs_root
def test_flows_end_while_it_runs_and_what_is_told_outlives_kill(wire, tmp_path):
    inside, one = wire
    flows = tmp_path / "flows"
    udp = ETHER / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1, dport=2)
    tcp = ETHER / IP(src="10.0.0.1", dst="10.0.0.2") / TCP(sport=1, dport=2, flags="R")
    with running(*inside.command(PERIGEE, "record", "--flows", flows, "--flow-idle",
                                 "500ms", "packet:one"), cwd=tmp_path) as process:
        process.wait_for_engine()
        one.send(bytes(udp))
        one.send(bytes(tcp))
        wait_until(lambda: flows.exists() and len(told(flows)) == 2,
                   lambda: f"two flows: {process.said}")
        assert sorted(line["end"] for line in lines_of(flows)) == ["finished", "idle"]
        counts = statistics(process)["flows"]
        assert (counts["flows"], counts["live"]) == (2, 0)
        process.send(signal.SIGKILL)
        process.finish()
    assert len(told(flows)) == 2


def test_flows_are_told_in_the_sandbox():
    with folder_for_all() as folder:
        out = folder / "named"
        flows = out / "flows"
        with running(PERIGEE, "--sandbox", "record", "--flows", flows, "--ipfix",
                     "127.0.0.1:9", "--folder", out, "null:size=60",
                     env=environment(folder)) as process:
            process.wait_for_engine()
            wait_until(lambda: process.read() and is_entered(process),
                       lambda: f"the sandbox: {process.said}")
            assert process.interrupt() == 0
        assert "packets of no flow: not IP" in process.said
        assert "IPFIX to 127.0.0.1:9: 0 flows in" in process.said


@pytest.mark.fast
@pytest.mark.parametrize("words, why", [
    (["--flow-idle", "1s"], "--flow-idle is given without --flows and --ipfix"),
    (["--flow-full", "both", "--flows", "f"], "'both' isn't evict or refuse"),
    (["--flow-limit", "0", "--flows", "f"], "'0' isn't a whole number from 1 to"),
    (["--flow-limit", "100M", "--flows", "f"], "'100M' isn't a whole number from 1 to"),
    (["--flow-active", "0", "--flows", "f"], "`active` is a number of seconds from 0.001"),
    (["--flows", "/none/f"], "'/none/f' can't be written"),
    (["--ipfix", "a:b:c"], "'a:b:c' isn't a collector such as 192.0.2.1:4739"),
    (["--ipfix", "127.0.0.1:0"], "'127.0.0.1:0' isn't a collector"),
    (["--ipfix", "[::1]:99999"], "'[::1]:99999' isn't a collector")])
def test_what_cannot_be_of_flows_is_told(words, why, tmp_path):
    result = perigee("record", *words, "null", cwd=tmp_path)
    assert result.returncode == 2, result
    assert why in result.stderr and result.stderr.count("\n") == 1, result.stderr

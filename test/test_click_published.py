# SPDX-License-Identifier: Apache-2.0
"""Configurations that papers published, as they are, with captures for their ports:
PacketMill's (PACKETMILL names a checkout of aliireza/packetmill), RSS++'s (RSSPP:
rsspp/experiments) and Cheetah's (CHEETAH: hashkash/cheetah-fastclick)."""

import os
import struct
from collections import Counter
from pathlib import Path

import pytest

from helpers import capture
from helpers.command import perigee
from helpers.npf import Experiment, included

CPUS = sorted(os.sched_getaffinity(0))
HERE, THERE = "02:00:00:00:00:01", "02:00:00:00:00:02"
FLOWS, PACKETS = 200, 1000


def checkout(name):
    where = os.environ.get(name)
    if not where:
        pytest.skip(f"{name} names no checkout")
    return Path(where)


def sum_of(data):
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def tcp(number):
    """Packet `number` of FLOWS flows, which says so."""
    flow = number % FLOWS
    addresses = bytes([10, 1, flow % 7, flow]) + bytes([10, 220, 0, 1])
    segment = struct.pack("!HHIIBBHHH", 1024 + flow, 80, number, 0, 0x50, 2, 512, 0, 0)
    segment += struct.pack("!HI", flow, number)
    pseudo = addresses + struct.pack("!HH", 6, len(segment))
    segment = segment[:16] + struct.pack("!H", sum_of(pseudo + segment)) + segment[18:]
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(segment), number & 0xFFFF, 0, 64, 6,
                         0) + addresses
    header = header[:10] + struct.pack("!H", sum_of(header)) + header[12:]
    return bytes.fromhex((HERE + THERE).replace(":", "")) + b"\x08\x00" + header + segment


class Run:
    """A configuration between captures of TCP packets: what leaves device 0."""

    def __init__(self, folder, text, *words, frames=None, others=()):
        source = capture.save(folder / "in.pcap", frames or list(map(tcp, range(PACKETS))))
        out = folder / "out.pcap"
        (folder / "published.click").write_text(text)
        self.result = perigee("click", folder / "published.click", "--port",
                              f"0=pcap:rx={source},tx={out}", *others, *words, timeout=120)
        self.said = self.result.stdout + self.result.stderr
        self.frames = list(capture.load(out)) if out.exists() else []

    def assert_translated(self, address):
        """All packets have left, from the address, each flow from its own port, in order,
        with right checksums."""
        assert self.result.returncode == 0, self.said
        assert len(self.frames) == PACKETS, self.said
        port_of, last = {}, Counter()
        for frame in self.frames:
            header, segment = frame[14:34], frame[34:]
            flow, number = struct.unpack("!HI", segment[20:26])
            assert header[12:16] == bytes(map(int, address.split(".")))
            assert sum_of(header) == 0
            pseudo = header[12:20] + struct.pack("!HH", 6, len(segment))
            assert sum_of(pseudo + segment) == 0
            assert port_of.setdefault(flow, segment[:2]) == segment[:2]
            assert last[flow] <= number
            last[flow] = number
        assert len(set(port_of.values())) == FLOWS


# PacketMill -------------------------------------------------------------------------

MACS = {"dut:0:mac": HERE, "dut:2:mac": HERE, "client:0:mac": THERE, "client2:0:mac": THERE,
        "dut:0:pci": "0", "dut:2:pci": "2"}


def packetmill(*tags):
    root = checkout("PACKETMILL") / "experiments"
    experiment = Experiment(included("packetmill.npf", root), tags, MACS)
    second = ["FNT2"] if "dual" in tags else []
    return experiment.configuration("IDS", "NAT", "FNT", *second, "MCONFIG")


# (VLAN 0, which "vlan" sets, is VLANEncap's native one: packets get no tag.)
@pytest.mark.parametrize("tags", ["router nat", "router nat ids", "router nat vlan",
                                  "router nat dual"])
def test_packetmills_nat(tmp_path, tags):
    run = Run(tmp_path, packetmill(*tags.split()), others=("--port", "2=null"))
    run.assert_translated("10.0.0.1")


@pytest.mark.skipif(len(CPUS) < 2, reason="it takes two CPUs")
def test_packetmills_nat_on_two_cpus(tmp_path):
    run = Run(tmp_path, packetmill("router", "nat"), "--cpus", f"{CPUS[0]},{CPUS[1]}")
    run.assert_translated("10.0.0.1")


@pytest.mark.parametrize("tags", ["router", "fwd", "router wp", "fwd ids"])
def test_packetmills_router_and_forwarder(tmp_path, tags):
    run = Run(tmp_path, packetmill(*tags.split()))
    assert run.result.returncode == 0, run.said
    assert len(run.frames) == PACKETS, run.said
    hop = "router" in tags
    for number, frame in enumerate(run.frames):
        assert frame[:12] == bytes.fromhex((THERE + HERE).replace(":", ""))
        assert (frame[22], frame[34:]) == (64 - hop, tcp(number)[34:])


# RSS++ ------------------------------------------------------------------------------

def rsspp(*tags):
    root = checkout("RSSPP")
    experiment = Experiment(included("dpdk.testie", root), tags, {
        "QUEUE": "2", "p:0:mac": HERE, "client:0:mac": THERE, "NPF_TESTIE_PATH": str(root)})
    return experiment.configuration(
        "HEADER", *experiment.values["RSS_SPLITTER_SCRIPT"].split(), "FOOTER")


VARIABLES = ("queuesNb=2", "threadsNb=2", "numa=false", "iface=0")


@pytest.mark.parametrize("tags", ["pianorss flow", "rss flow", "dynamicrss flow",
                                  "pianorss dpi noreorder"])
@pytest.mark.parametrize("cpus", [1, 2])
def test_rsspps_experiment(tmp_path, tags, cpus):
    if len(CPUS) < cpus:
        pytest.skip("it takes two CPUs")
    words = () if cpus == 1 else ("--cpus", f"{CPUS[0]},{CPUS[1]}")
    run = Run(tmp_path, rsspp(*tags.split()), *VARIABLES, *words)
    assert run.result.returncode == 0, run.said
    assert f"Sent: {PACKETS}\n" in run.said
    assert "RESULT-FWDROPPED 0\n" in run.said
    seen = Counter(frame[34:] for frame in run.frames)
    assert seen == Counter(tcp(number)[34:] for number in range(PACKETS))


@pytest.mark.parametrize("tags", ["wpf", "wpf wpf_pwrite", "wpf wpf_seq", "wpf nowpf"])
def test_rsspps_work_package(tmp_path, tags):
    run = Run(tmp_path, rsspp("rss", *tags.split()), *VARIABLES)
    assert run.result.returncode == 0, run.said
    assert Counter(frame[34:] for frame in run.frames) == Counter(
        tcp(number)[34:] for number in range(PACKETS))


@pytest.mark.parametrize("tags", ["pianorss nat", "rss nat"])
def test_rsspps_nat(tmp_path, tags):
    Run(tmp_path, rsspp(*tags.split()), *VARIABLES).assert_translated("1.0.0.1")


# Cheetah ----------------------------------------------------------------------------

def cheetah(name):
    return (checkout("CHEETAH") / "conf/cheetah" / name).read_text()


def arp_reply(address, asker):
    """`address` is at THERE, says an answer to `asker`."""
    return bytes.fromhex((HERE + THERE).replace(":", "")) + bytes.fromhex(
        "0806 0001 0800 06 04 0002" + THERE.replace(":", "")) + bytes(
            address) + bytes.fromhex(HERE.replace(":", "")) + bytes(asker) + bytes(18)


def test_cheetahs_path_without_a_load_balancer(tmp_path):
    text = cheetah("cheetah-nolb.click")
    arp = arp_reply([10, 221, 0, 5], [10, 221, 0, 1])
    clients = capture.save(tmp_path / "clients.pcap", list(map(tcp, range(PACKETS))))
    run = Run(tmp_path, text, f"macleft={HERE}", f"macright={HERE}", frames=[arp],
              others=("--port", f"1=pcap:rx={clients}"))
    assert run.result.returncode == 0, run.said
    sent = Counter(frame[34:] for frame in run.frames if frame[12:14] == b"\x08\x00")
    assert sent == Counter(tcp(number)[34:] for number in range(PACKETS)), run.said


VIP, RIGHT = [10, 220, 0, 1], [10, 221, 0, 1]


def stamped(source, destination, sport, dport, flags, value, echo):
    """A TCP segment with a timestamps option (RFC 7323), in a frame."""
    addresses = bytes(source) + bytes(destination)
    segment = struct.pack("!HHIIBBHHHHBBII", sport, dport, 1, 1, 0x80, flags, 512, 0, 0,
                          0x0101, 8, 10, value, echo)
    pseudo = addresses + struct.pack("!HH", 6, len(segment))
    segment = segment[:16] + struct.pack("!H", sum_of(pseudo + segment)) + segment[18:]
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(segment), 7, 0, 64, 6, 0) + addresses
    header = header[:10] + struct.pack("!H", sum_of(header)) + header[12:]
    return bytes.fromhex((HERE + THERE).replace(":", "")) + b"\x08\x00" + header + segment


def stamps(frames):
    """{port of the client: (source, destination, TSval, TSecr)} of TCP in frames whose
    checksums are right."""
    found = {}
    for frame in frames:
        if frame[12:14] != b"\x08\x00":
            continue
        header, segment = frame[14:34], frame[34:66]
        assert sum_of(header) == 0
        assert sum_of(header[12:20] + struct.pack("!HH", 6, len(segment)) + segment) == 0
        sport, dport = struct.unpack("!HH", segment[:4])
        found[sport if dport == 80 else dport] = (
            list(header[12:16]), list(header[16:20]), *struct.unpack("!II", segment[24:32]))
    return found


def cheetah_run(folder, text, clients, servers, *variables):
    """What leaves to servers, and to clients."""
    rx, tx = capture.save(folder / "clients.pcap", clients), folder / "clients.out"
    run = Run(folder, text, f"macleft={HERE}", f"macright={HERE}", "print=0", *variables,
              frames=servers, others=("--port", f"1=pcap:rx={rx},tx={tx}"))
    assert run.result.returncode == 0, run.said
    return stamps(run.frames), stamps(capture.load(tx)), run


@pytest.mark.parametrize("variables", [(), ("mode=hash",)])
def test_cheetahs_stateless_load_balancer(tmp_path, variables):
    text, ports, clock = cheetah("cheetah-stateless.click"), range(2000, 2060), 0x12345678
    servers = [[10, 221, 0, 5 + n] for n in range(4)]
    known = [arp_reply(server, RIGHT) for server in servers]
    router = arp_reply([10, 220, 0, 5], VIP)
    client = [9, 9, 9, 9]
    begun, _, _ = cheetah_run(
        tmp_path, text, [router] + [stamped(client, VIP, port, 80, 2, 5, 0) for port in ports],
        known, *variables)
    assert set(begun) == set(ports)
    assert {tuple(to) for _, to, _, _ in begun.values()} == set(map(tuple, servers))
    # The same balancer again, which knows no connection: servers answer, clients go on.
    answers = [stamped(begun[port][1], client, 80, port, 0x12, clock, 5) for port in ports]
    _, answered, _ = cheetah_run(tmp_path, text, [router], known + answers, *variables)
    assert set(answered) == set(ports)
    for port in ports:
        source, to, value, echo = answered[port]
        assert (source, to, value & 0xFFFF, echo) == (VIP, client, clock & 0xFFFF, 5)
        assert servers[value >> 16 & 0x7FFF] == begun[port][1]


def test_cheetahs_stateful_load_balancer(tmp_path):
    text, ports, vip = cheetah("cheetah-stateful.click"), range(2000, 2060), [10, 2, 0, 1]
    servers = [[10, 180, 250, 5 + n] for n in range(32)]
    known = [arp_reply(server, [10, 180, 250, 1]) for server in servers]
    syns = [stamped([9, 9, 9, 9], vip, port, 80, 2, 5, 0) for port in ports]
    begun, _, _ = cheetah_run(tmp_path, text, syns, known)
    cookies = {port: begun[port][3] for port in ports}
    rest = [stamped([9, 9, 9, 9], vip, port, 80, 0x10, 6, cookies[port] + 99)
            for port in ports]
    (tmp_path / "again").mkdir()
    again, _, run = cheetah_run(tmp_path / "again", text, syns + rest, known)
    for port in ports:
        assert again[port][1:] == (begun[port][1], 6, cookies[port] + 99), run.said

# SPDX-License-Identifier: Apache-2.0
"""--balance and DeviceBalancer: elephants among mice on two CPUs. Flows move to the less busy
one while packets pass: none is lost, each flow stays in order, and what a configuration
keeps of it moves along."""

import os
import random
import re
import socket
import struct

import pytest

from helpers.command import PERIGEE, perigee, run, running, wait_until

CPUS = sorted(os.sched_getaffinity(0))
pytestmark = pytest.mark.skipif(len(CPUS) < 2, reason="it takes two CPUs")

ON_TWO = ("--cpus", f"{CPUS[0]},{CPUS[1]}")
HEADER = struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
FLOWS, BATCH, MOVES, ROOM = 300, 2000, 3, 4096

# A balancer that moves flows at once, and a manager, a load balancer and counters that
# keep something of each.
STATEFUL = """
in :: FromDPDKDevice(0) -> MarkIPHeader(14) -> CheckIPHeader(14, CHECKSUM false)
  -> m :: FlowIPManagerIMP(CAPACITY %d, TIMEOUT 600) -> c :: FlowCounter
  -> lb :: FlowIPLoadBalancer(VIP 10.0.0.1, DST 10.1.0.1, DST 10.1.0.2, DST 10.1.0.3)
  -> ToDPDKDevice(1);
balancer :: DeviceBalancer(METHOD rsspp, DEV in, TIMER 10);
""" % ROOM


class Traffic:
    """Numbered packets of flows, one of which is an elephant."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.flows = [self.frame() for _ in range(FLOWS)]
        self.sent = [0] * FLOWS

    def frame(self):
        addresses = struct.pack(">II", 0x0A000000 + self.random.getrandbits(24), 0x0A000001)
        ports = struct.pack(">HH", self.random.randrange(1024, 65536), 80)
        return (b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0\x45\0" + struct.pack(">H", 32) + bytes(4)
                + b"\x40\x11\0\0" + addresses + ports + struct.pack(">HH", 12, 0))

    def record(self, flow):
        frame = self.flows[flow] + struct.pack(">I", self.sent[flow])
        self.sent[flow] += 1
        return struct.pack("<IIII", 1, 0, len(frame), len(frame)) + frame

    def batch(self, elephant):
        choose = self.random.random
        return b"".join(
            self.record(elephant if choose() < 0.4 else self.random.randrange(FLOWS))
            for _ in range(BATCH))


class Flood(Traffic):
    """The same among packets from other sources, each of which sends one."""

    def __init__(self, seed):
        super().__init__(seed)
        self.strangers = 0

    def stranger(self):
        self.strangers += 1
        frame = bytearray(self.flows[0])
        frame[26:30] = struct.pack(">I", 0x0B000000 + self.strangers)
        return struct.pack("<IIII", 1, 0, len(frame) + 4, len(frame) + 4) + frame + bytes(4)

    def batch(self, elephant):
        if not any(self.sent):  # they are known before the flood
            return b"".join(map(self.record, range(FLOWS)))
        records = super().batch(elephant)
        size = len(records) // BATCH
        return b"".join(records[at:at + size] + self.stranger()
                        for at in range(0, len(records), size))


def packets(path):
    """(source address and ports, destination address, number) of each packet of the file."""
    data, at = path.read_bytes(), 24
    while at + 16 <= len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        if at + 16 + size > len(data):  # it is being written
            return
        frame = data[at + 16:at + 16 + size]
        at += 16 + size
        yield frame[26:30] + frame[34:36], frame[30:34], struct.unpack(">I", frame[42:46])[0]


def turns(control):
    """How often flows have moved."""
    control.sendall(b"READ balancer.run_stats\r\n")
    text = b""
    while not re.search(rb"DATA \d+\r\n0 \d+ .*\n", text):
        more = control.recv(1000)
        assert more, text
        text += more
    return int(re.search(rb"DATA \d+\r\n0 (\d+) ", text)[1])


def feed(pipe, control, traffic):
    """Send an elephant after another, until flows have moved a few times."""
    for _ in range(200):
        elephant = traffic.random.randrange(FLOWS)
        before = turns(control)
        for _ in range(15):
            pipe.write(traffic.batch(elephant))
            now = turns(control)
            if now > before:
                break
        if now >= MOVES:
            return
    raise AssertionError("flows didn't move")


def test_flows_move_with_their_state(tmp_path):
    fifo, unix, out = tmp_path / "in", tmp_path / "control", tmp_path / "out.pcap"
    os.mkfifo(fifo)
    traffic = Traffic(38)
    with running(PERIGEE, "click", *ON_TWO, "-u", unix,
                 "--device", f"0=pcap:rx={fifo}", "--device", f"1=pcap:tx={out}",
                 "-h", "m.count", "-h", "c.count", "-h", "c.open",
                 "-h", "balancer.run_stats", "-e", STATEFUL) as click:
        # For reading, too: so it opens whether or not Perigee has.
        with open(os.open(fifo, os.O_RDWR), "wb", buffering=0) as pipe:
            pipe.write(HEADER + traffic.batch(0))  # it waits for the beginning of the file
            wait_for_socket(click, unix)
            with socket.socket(socket.AF_UNIX) as control:
                control.connect(str(unix))
                feed(pipe, control, traffic)
        assert click.finish() == 0
        said = click.said
    flows = sum(sent > 0 for sent in traffic.sent)
    for handler in "m.count", "c.count", "c.open":
        assert f"{handler}:\n{flows}\n" in said
    last, server = {}, {}
    for flow, to, number in packets(out):
        assert number == last.get(flow, -1) + 1, "out of order, or lost"
        assert server.setdefault(flow, to) == to, "another server"
        last[flow] = number
    assert sum(last.values()) + len(last) == sum(traffic.sent)


def test_flows_move_in_a_flood(tmp_path):
    """More flows come than there is room for: those that were there lose nothing, stay in
    order and keep their server while they move, and of the others so many packets pass as
    there are flows of them."""
    fifo, unix, out = tmp_path / "in", tmp_path / "control", tmp_path / "out.pcap"
    os.mkfifo(fifo)
    traffic = Flood(40)
    with running(PERIGEE, "click", *ON_TWO, "-u", unix,
                 "--device", f"0=pcap:rx={fifo}", "--device", f"1=pcap:tx={out}",
                 "-h", "m.count", "-h", "c.count", "-e", STATEFUL) as click:
        with open(os.open(fifo, os.O_RDWR), "wb", buffering=0) as pipe:
            pipe.write(HEADER + traffic.batch(0))
            wait_for_socket(click, unix)
            with socket.socket(socket.AF_UNIX) as control:
                control.connect(str(unix))
                feed(pipe, control, traffic)
            while traffic.strangers < 3 * ROOM:
                pipe.write(traffic.batch(1))
        assert click.finish() == 0
        said = click.said
    count = int(re.search(r"^m\.count:\n(\d+)$", said, re.M)[1])
    assert FLOWS < count <= ROOM
    last, server, strangers = {}, {}, 0
    for flow, to, number in packets(out):
        if flow.startswith(b"\x0b"):
            strangers += 1
            continue
        assert number == last.get(flow, -1) + 1, "out of order, or lost"
        assert server.setdefault(flow, to) == to, "another server"
        last[flow] = number
    assert sum(last.values()) + len(last) == sum(traffic.sent)
    assert strangers == count - FLOWS


def wait_for_socket(click, unix):
    """That of the copies: a router that was looked at before them had one, too."""
    click.wait_for_engine()
    wait_until(lambda: unix.exists() or not click.read(), "its socket")


def sent_so_far(path, count):
    """Whether the file has so many packets."""
    return path.exists() and sum(1 for _ in packets(path)) == count


@pytest.mark.parametrize("cpus, text", [
    (ON_TWO, STATEFUL), (ON_TWO, STATEFUL.replace("balancer ::", "// ")), ((), STATEFUL),
], ids=["balanced", "not balanced", "one CPU"])
def test_flows_that_have_moved_are_kept(tmp_path, cpus, text):
    """After kill -9 each flow has the server that it had, whichever CPU it was on, and
    whether flows move again."""
    fifo, unix = tmp_path / "in", tmp_path / "control"
    os.mkfifo(fifo)
    traffic, server = Traffic(39), {}
    environment = {**os.environ, "SNABB_SHM_ROOT": str(tmp_path / "shm")}

    def router(out, cpus, text):
        return running(PERIGEE, "--keep", "lb", "click", *cpus, "-u", unix,
                       "--device", f"0=pcap:rx={fifo}", "--device", f"1=pcap:tx={out}",
                       "-e", text, env=environment)

    first, second = tmp_path / "first.pcap", tmp_path / "second.pcap"
    with router(first, ON_TWO, STATEFUL) as click, \
            open(os.open(fifo, os.O_RDWR), "wb", buffering=0) as pipe:
        pipe.write(HEADER + traffic.batch(0))
        wait_for_socket(click, unix)
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(str(unix))
            feed(pipe, control, traffic)
        wait_until(lambda: sent_so_far(first, sum(traffic.sent)), "all packets")
        click.process.kill()
        click.process.wait()
    for flow, to, _ in packets(first):
        assert server.setdefault(flow, to) == to, "another server"

    known = [index for index in range(FLOWS) if traffic.sent[index]]
    traffic.sent = [0] * FLOWS
    with router(second, cpus, text) as click, \
            open(os.open(fifo, os.O_RDWR), "wb", buffering=0) as pipe:
        pipe.write(HEADER + b"".join(traffic.record(index) for index in known))
        wait_until(lambda: sent_so_far(second, len(known)), "a packet of each flow")
        click.interrupt()
    assert {flow: to for flow, to, _ in packets(second)} == server
    found = re.findall(r"goes on with (\d+) of (\d+) records", click.said)
    assert [sum(int(n[i]) for n in found) for i in (0, 1)] == [len(known)] * 2, click.said


def number(control, handler):
    """What the handler says, which is a number."""
    control.sendall(b"READ %s\r\n" % handler.encode())
    text = b""
    while not (found := re.search(rb"DATA (\d+)\r\n", text)) \
            or len(text) < found.end() + int(found[1]):
        more = control.recv(1000)
        assert more, text
        text += more
    return int(text[found.end():])


def test_what_cannot_move_is_said():
    for text, why in [
        ("FromDPDKDevice(0) -> Queue -> ToDPDKDevice(1)",
         "Queue@2 :: Queue keeps packets, which others of their flow could overtake"),
        ("FromDPDKDevice(0) -> Strip(14) -> CheckIPHeader -> IPRewriter(keep 0 0) -> "
         "Unstrip(14) -> ToDPDKDevice(1)",
         "IPRewriter@4 :: IPRewriter keeps state of flows that can't move"),
    ]:
        result = run(PERIGEE, "plan", "--no-source", "click", *ON_TWO, "--balance",
                     "--device", "0=pcap:rx=/dev/null", "--device", "1=null", "-e", text)
        assert f"  flows stay on their CPUs: {why}\n" in result.stdout, result


def test_a_report_tells_what_has_moved(tmp_path):
    traffic, capture = Traffic(5), tmp_path / "in.pcap"
    capture.write_bytes(HEADER + b"".join(traffic.batch(7) for _ in range(50)))
    result = perigee("echo", "--balance", f"pcap:rx={capture},loop=1", 1, 1.5, *ON_TWO)
    assert result.returncode == 0, result.stderr
    assert re.search(r"^balance: the busiest CPU had 1\.\d\d of the mean at first, now",
                     result.stdout, re.M), result.stdout
    assert re.search(r"^balance: \d+ buckets moved in \d+ turns", result.stdout, re.M)

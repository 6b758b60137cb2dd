# SPDX-License-Identifier: Apache-2.0
"""Streams of TCP between two hosts (network namespaces), with words replaced on their way
by Click's TCPIn, WordMatcher and TCPOut, whatever is lost and reordered before them; and
segments in no order, of impossible lengths and numbers."""

import random
import re
import socket
import struct
import threading

import pytest

from helpers.command import PERIGEE, perigee, running, wait_until
from helpers.network import veth

WORD, PORT, TIMEOUT = b"attack", 8000, 100
# In segments of any size it begins and ends in all places; some stand side by side.
BODY = b"".join(b"%d an attack, " % i + b"attack" * (i % 3) + b"attattack.\n" * (i % 5)
                for i in range(18000))

# A path of one direction; losing and delaying packets, a share of them.
GRAPH = """
elementclass Path { $in, $out, $loss, $late, $back, $mode, $msg |
  FromDevice($in, SNIFFER false, PROMISC true)
  -> c :: Classifier(12/0800 23/06, -);
  to :: ToDevice($out);
  c[1] -> to;
  c[0] -> lost :: RandomSample(DROP $loss) -> s :: RandomSample(DROP $late)
  -> strip :: Strip(14) -> CheckIPHeader -> IPIn -> in :: TCPIn($back)
  -> w :: WordMatcher(WORD attack, MODE $mode, MSG $msg, ALL true, QUIET true)
  -> out :: TCPOut -> IPOut -> Unstrip(14) -> to;
  s[1] -> Queue(100) -> DelayUnqueue(3ms) -> strip;
}
up :: Path(left, right, %(loss)s, %(late)s, down/in, ALERT, x);
down :: Path(right, left, %(loss)s, %(late)s, up/in, %(mode)s, "%(msg)s");
"""


class Server(threading.Thread):
    """Takes one connection: reads a line and answers with BODY, or with what comes."""

    def __init__(self, host):
        super().__init__(daemon=True)
        with host.entered():
            self.socket = socket.create_server(("10.0.0.2", PORT))
        self.socket.settimeout(TIMEOUT)
        self.received = b""
        self.start()

    def run(self):
        with self.socket, self.socket.accept()[0] as connection:
            connection.settimeout(TIMEOUT)
            while not self.received.endswith(b"\n"):
                self.received += connection.recv(65536)
            connection.sendall(BODY)


def fetch(host):
    """What a connection to the server gives."""
    with host.entered():
        client = socket.socket()
    parts = []
    with client:
        client.settimeout(TIMEOUT)
        client.connect(("10.0.0.2", PORT))
        client.sendall(b"get an attack\n")
        while part := client.recv(65536):
            parts.append(part)
    return b"".join(parts)


@pytest.fixture
def hosts(namespace):
    a, middle, b = namespace("a"), namespace("m"), namespace("b")
    for host, iface, address in (a, "left", 1), (b, "right", 2):
        veth(middle, iface, host, "net", offloads=False)
        host.ip("address", "add", f"10.0.0.{address}/24", "dev", "net")
    return a, middle, b


REPLACED = {"REMOVE": b"", "MASK": b"******", "FULL": b"a longer word"}


def compare(got, text, body=BODY):
    """Where `got` isn't `body` with `text` for each word (None: nowhere); and of how many
    words the beginning was left. That may be where its packet came again, alone, before
    the rest: then it has to leave."""
    first, *parts = body.split(WORD)
    ways = {len(first): 0} if got.startswith(first) else {}  # where it may be: begun
    for part in parts:
        further = {}
        for at, begun in ways.items():
            for k in range(len(WORD)):
                piece = WORD[:k] + text[k:] + part
                if got.startswith(piece, at):
                    behind = at + len(piece)
                    further[behind] = min(begun + (piece != text + part),
                                          further.get(behind, len(body)))
        if not further:
            return max(ways, default=0), 0
        ways = further
    return (None, ways[len(got)]) if len(got) in ways else (max(ways), 0)


@pytest.mark.parametrize("loss, late", [("0", "0"), ("0.01", "0.02")])
@pytest.mark.parametrize("mode", REPLACED)
def test_words_are_replaced_in_a_stream(hosts, mode, loss, late, tmp_path):
    a, middle, b = hosts
    graph = tmp_path / "graph.click"
    graph.write_text(GRAPH % {"mode": mode, "msg": REPLACED[mode].decode(), "loss": loss,
                              "late": late})
    with running(*middle.command(PERIGEE, "click", graph)) as program:
        def answers():
            assert program.read(), program.said
            return a.run("ping", "-n", "-c", "1", "-W", "1", "10.0.0.2").returncode == 0
        wait_until(answers, lambda: f"a ping: {program.said}")
        server = Server(b)
        got = fetch(a)
        server.join(TIMEOUT)
        assert server.received == b"get an attack\n"
    assert WORD not in got, program.said
    differs, begun = compare(got, REPLACED[mode])
    assert differs is None, f"other bytes from {differs} on: {got[differs - 40:differs + 40]}"
    if loss == "0":
        assert begun == 0, program.said


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return struct.pack(">H", ~total & 0xffff)


def segment(chance, up, host, seq, ack, flags, payload=b"", options=b""):
    """A packet between 10.0.0.`host` and a server; one of ten has other bytes, of which
    half have checksums to match, and some end early."""
    ends = [bytes([10, 0, 0, host]), bytes([10, 0, 1, 1])][::1 if up else -1]
    ports = (1000, 80)[::1 if up else -1]
    tcp = struct.pack(">HHIIBBHHH", *ports, seq % 2**32, ack % 2**32,
                      (5 + len(options) // 4) << 4, flags, 8192, 0, 0) + options + payload
    p = bytearray(struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0)
                  + b"".join(ends) + tcp)
    other = chance.random() < 0.1
    for _ in range(chance.randint(1, 3) if other else 0):
        p[chance.randrange(len(p))] = chance.randrange(256)
    at = (p[0] & 15) * 4
    if at + 20 <= len(p) and not (other and chance.random() < 0.5):
        p[10:12] = p[at + 16:at + 18] = b"\0\0"
        p[10:12] = checksum(bytes(p[:at]))
        p[at + 16:at + 18] = checksum(
            bytes(p[12:20]) + struct.pack(">HH", 6, len(p) - at) + bytes(p[at:]))
    return bytes(p[:chance.randrange(len(p)) if chance.random() < 0.05 else len(p)])


def segments(chance, n):
    first = 2**32 - 200
    for _ in range(n):
        kind, host, up = chance.random(), chance.randint(1, 20), chance.random() < 0.6
        mss = b"\2\4" + struct.pack(">H", chance.choice([0, 1, 20, 536, 1460])) + b"\1\1\4\2"
        if kind < 0.04:
            yield segment(chance, True, host, first, 0, 2, options=mss)
        elif kind < 0.08:
            yield segment(chance, False, host, first, first + 1, 18, options=mss)
        else:
            flags = 16 if kind < 0.95 else 17 if kind < 0.965 else chance.randrange(64)
            yield segment(chance, up, host, first + chance.randint(0, 400),
                          first + chance.randint(0, 400), flags,
                          bytes(chance.choices(b"wordx", k=chance.randint(0, 40))))


ANY_ORDER = """
FromDump(in.pcap, STOP true, FORCE_IP true) -> CheckIPHeader(VERBOSE false)
-> c :: IPClassifier(src host 10.0.1.1, -);
c[1] -> IPIn -> a :: TCPIn(b, CAPACITY 16)
-> w :: WordMatcher(WORD word, WORD row, MODE %s, MSG abcdefghij, ALL true)
-> ao :: TCPOut -> out :: CheckIPHeader(VERBOSE true) -> t :: CheckTCPHeader(VERBOSE true)
-> n :: Counter -> Discard;
c[0] -> IPIn -> b :: TCPIn(a, CAPACITY 16) -> WordMatcher(WORD word, MODE %s)
-> bo :: TCPOut -> out; ao[1] -> out; bo[1] -> out;
DriverManager(pause, print "$(n.count) sent, $(w.found) found",
  print "$(out.drops) $(t.drops) wrong");
"""


@pytest.mark.parametrize("mode", ["FULL", "REMOVE", "MASK", "CLOSE"])
def test_segments_in_no_order(mode, tmp_path):
    """What leaves has right lengths and checksums, whatever comes."""
    seed = random.randrange(2**32)
    header = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 101)
    (tmp_path / "in.pcap").write_bytes(header + b"".join(
        struct.pack("<IIII", 100, i, len(p), len(p)) + p
        for i, p in enumerate(segments(random.Random(seed), 20000))))
    result = perigee("click", "-e", ANY_ORDER % (mode, mode), cwd=tmp_path)
    said = f"seed {seed}: {result.stdout}{result.stderr[-2000:]}"
    assert result.returncode == 0, said
    sent, found = map(int, re.match(r"(\d+) sent, (\d+) found\n", result.stdout).groups())
    assert sent > 1000 and found > 0, said
    assert result.stdout.endswith("0 0 wrong\n"), said

# SPDX-License-Identifier: Apache-2.0
"""Streams of TCP between two hosts (network namespaces), with words replaced on their way
by Click's TCPIn, WordMatcher and TCPOut, whatever is lost and reordered before them."""

import socket
import threading

import pytest

from helpers.command import PERIGEE, running, wait_until
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


def compare(got, text):
    """Where `got` isn't BODY with `text` for each word (None: nowhere); and of how many
    words the beginning was left. That may be where its packet came again, alone, before
    the rest: then it has to leave."""
    first, *parts = BODY.split(WORD)
    ways = {len(first): 0} if got.startswith(first) else {}  # where it may be: begun
    for part in parts:
        further = {}
        for at, begun in ways.items():
            for k in range(len(WORD)):
                piece = WORD[:k] + text[k:] + part
                if got.startswith(piece, at):
                    behind = at + len(piece)
                    further[behind] = min(begun + (piece != text + part),
                                          further.get(behind, len(BODY)))
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

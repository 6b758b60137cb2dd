# SPDX-License-Identifier: Apache-2.0
"""Bodies of HTTP between Python's http.server and curl (network namespaces), with words
replaced on their way by Click's HTTPIn, WordMatcher and HTTPOut, so that they are longer or
shorter: byte for byte what is expected, on one connection, whatever is lost and reordered."""

import functools
import http.server
import threading

import pytest

from helpers.command import PERIGEE, running, wait_until
from test_click_streams import compare, hosts  # noqa: F401

PORT, TIMEOUT = 8000, 100
WORD = b"attack"
SMALL = b"an attack, attackattack att"
BIG = b"".join(b"%d an attack, " % i + b"attack" * (i % 3) + b"attattack.\n" * (i % 5)
               for i in range(9000))

GRAPH = """
elementclass Path { $in, $out, $loss, $late, $back, $http, $mode, $msg |
  FromDevice($in, SNIFFER false, PROMISC true)
  -> c :: Classifier(12/0800 23/06, -);
  to :: ToDevice($out);
  c[1] -> to;
  c[0] -> lost :: RandomSample(DROP $loss) -> s :: RandomSample(DROP $late)
  -> strip :: Strip(14) -> CheckIPHeader -> IPIn -> in :: TCPIn($back)
  -> http :: HTTPIn(%(http)s)
  -> w :: WordMatcher(WORD attack, MODE $mode, MSG $msg, ALL true, QUIET true)
  -> HTTPOut -> out :: TCPOut -> IPOut -> Unstrip(14) -> to;
  s[1] -> Queue(100) -> DelayUnqueue(3ms) -> strip;
}
up :: Path(left, right, %(loss)s, %(late)s, down/in, x, ALERT, x);
down :: Path(right, left, %(loss)s, %(late)s, up/in, x, %(mode)s, "%(msg)s");
"""


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with SMALL, BIG or nothing, with its length or in chunks."""
    protocol_version = "HTTP/1.1"
    seen = []

    def do_GET(self):  # noqa: N802
        self.seen.append((self.command, self.path, self.headers.get("Accept-Encoding")))
        kind, _, name = self.path.strip("/").partition("/")
        if kind == "none":
            self.send_response(204)
            self.end_headers()
            return
        body = {"small": SMALL, "big": BIG, "empty": b""}[name]
        self.send_response(200)
        self.send_header("X-Attack", "attack")
        if kind == "chunked":
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(len(body)))
        head = b"".join(self._headers_buffer) + b"\r\n"
        self._headers_buffer = []
        if self.command == "HEAD":
            self.wfile.write(head)
        elif kind == "chunked":
            self.wfile.write(head)
            for at in range(0, len(body), 777):
                piece = body[at:at + 777]
                self.wfile.write(b"%x;a=b\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\nX-Trailer: attack\r\n\r\n")
        else:
            self.wfile.write(head + body)

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self):  # noqa: N802
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append((self.command, self.path, body))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Says nothing."""


class Serving:
    """A server in `host`, as long as it is entered."""
    def __init__(self, host, handler):
        with host.entered():
            self.server = http.server.ThreadingHTTPServer(("10.0.0.2", PORT), handler)
        self.server.daemon_threads = True

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def through(hosts, tmp_path, handler, paths, options=(), **graph):
    """What curl gets from the server for each of the paths, by one command: bodies; and
    how many connections it took."""
    a, middle, b = hosts
    text = GRAPH % dict({"loss": "0", "late": "0", "mode": "FULL", "msg": "", "http": ""},
                        **graph)
    (tmp_path / "graph.click").write_text(text)
    with running(*middle.command(PERIGEE, "click", tmp_path / "graph.click")) as program, \
            Serving(b, handler):
        def answers():
            assert program.read(), program.said
            return a.run("ping", "-n", "-c", "1", "-W", "1", "10.0.0.2").returncode == 0
        wait_until(answers, lambda: f"a ping: {program.said}")
        command = ["curl", "-sS", "--max-time", str(TIMEOUT), "-w", "%{num_connects} ",
                   *options]
        for i, path in enumerate(paths):
            command += ["-o", str(tmp_path / str(i)), f"http://10.0.0.2:{PORT}/{path}"]
        result = a.run(*command)
        assert result.returncode == 0, f"{result.stderr} {program.said}"
    bodies = [(tmp_path / str(i)).read_bytes() if (tmp_path / str(i)).exists() else b""
              for i in range(len(paths))]
    return bodies, sum(map(int, result.stdout.split()))


REPLACED = {"REMOVE": b"", "REPLACE": b"a long", "FULL": b"a longer word"}
PATHS = ["length/small", "length/big", "none/x", "chunked/small", "chunked/big",
         "length/empty", "chunked/empty", "length/small"]


@pytest.mark.parametrize("loss, late", [("0", "0"), ("0.01", "0.02")])
@pytest.mark.parametrize("mode", REPLACED)
def test_bodies_are_changed_on_one_connection(hosts, mode, loss, late, tmp_path):
    text = REPLACED[mode]
    bodies, connections = through(hosts, tmp_path, Handler, PATHS, loss=loss, late=late,
                                  mode=mode, msg=text.decode())
    assert connections == 1
    for path, got in zip(PATHS, bodies):
        name = path.rpartition("/")[2]
        body = {"small": SMALL, "big": BIG}.get(name, b"")
        if loss == "0":
            assert got == body.replace(WORD, text), path
        else:
            differs, _ = compare(got, text, body)
            assert differs is None, f"{path}: {got[differs - 40:differs + 40]}"

# SPDX-License-Identifier: Apache-2.0
"""perigee connect with Linux's TCP and UDP on the other side of a veth pair."""

import hashlib
import http.client
import http.server
import socket
import threading

from helpers.command import PERIGEE, running, wait_until
from helpers.connect import checked, connect

PATTERN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+\n"


def addresses(there):
    there.ip("addr", "add", "10.9.1.1/16", "dev", "right")


class Files(http.server.BaseHTTPRequestHandler):
    """Answers each request with so many bytes, and keeps the connection."""

    protocol_version = "HTTP/1.1"
    length = 100_000

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(self.length))
        self.end_headers()
        self.wfile.write(bytes(self.length))

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

    def handle_error(self, *_):
        """Connections are reset here, as they should be."""


def begin(there):
    """A server of files that runs there."""
    with there.entered():
        server = Server(("10.9.1.1", 80), Files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def test_a_server_of_linux(pair):
    here, there = pair
    addresses(there)
    server = begin(there)
    try:
        results = connect("client", "packet:left", "--clients", "10.9.2.1..10.9.2.9",
                          "--servers", "10.9.1.1", "--http", "/x", "--requests", "3",
                          "--count", "60", "--concurrent", "10", "--timeout", "60",
                          command=here.command())
    finally:
        server.shutdown()
        server.server_close()
    counts = results["client"]["counts"]
    assert counts["closed"] == counts["established"] == 60, results
    assert counts["answers"] == 180 and counts["failed_answers"] == 0, results
    assert counts["bytes_received"] > 180 * Files.length, results


def test_a_port_of_linux_that_nobody_listens_on(pair):
    here, there = pair
    addresses(there)
    results = connect("client", "packet:left", "--clients", "10.9.2.1", "--servers",
                      "10.9.1.1", "--count", "5", command=here.command(), status=1)
    assert results["client"]["counts"]["refused"] == 5, results


def test_datagrams_to_linux(pair):
    """One port answers what is asked, twice as long; on another nobody listens."""
    here, there = pair
    addresses(there)
    options = ["client", "packet:left", "--udp", "--clients", "10.9.2.1..10.9.2.5",
               "--servers", "10.9.1.1", "--requests", "2", "--timeout", "30"]
    with there.entered():
        answering = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        answering.bind(("10.9.1.1", 7))

    def answer():
        while True:
            data, peer = answering.recvfrom(2048)
            if data == b"end":
                return
            answering.sendto(data * 2, peer)

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    results = connect(*options, "--server-ports", "7", "--count", "20",
                      command=here.command())
    with there.entered():
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"end", ("10.9.1.1", 7))
    thread.join()
    answering.close()
    counts = results["client"]["counts"]
    assert counts["closed"] == 20 and counts["answers"] == 40, results
    assert counts["bytes_received"] == 200 * (40 + counts["duplicates"]), results
    results = connect(*options, "--server-ports", "9", "--count", "5",
                      command=here.command(), status=1)
    assert results["client"]["counts"]["refused"] == 5, results


IMPAIRED = """
local Impair = {}
Impair.__index = Impair
function Impair:new() return setmetatable({n = 0, lost = 0, held = {}}, Impair) end
-- Of each 50 packets one is lost, and one of each 20 comes four behind its place.
local function pass(self, input, output, list)
  for _ = 1, link.nreadable(input) do
    local p = link.receive(input)
    self.n = self.n + 1
    if self.n % 50 == 0 then
      self.lost = self.lost + 1
      packet.free(p)
    elseif self.n % 20 == 7 and not list.p then
      list.p, list.left = p, 4
    else
      link.transmit(output, p)
      if list.p then
        list.left = list.left - 1
        if list.left == 0 then
          link.transmit(output, list.p)
          list.p = nil
        end
      end
    end
  end
end
function Impair:push()
  self.one, self.two = self.one or {}, self.two or {}
  pass(self, self.input.a, self.output.b, self.one)
  pass(self, self.input.b, self.output.a, self.two)
end
local c = config.new()
config.app(c, "port", require("apps.port.port").Port, "packet:left")
config.app(c, "impair", Impair)
config.app(c, "server", require("apps.connect.endpoint").Server,
  {servers = "10.9.2.0/24", http = "/", response = 300000, mac = "02:00:00:00:00:05"})
config.link(c, "port.output -> impair.a")
config.link(c, "impair.a -> port.input")
config.link(c, "server.output -> impair.b")
config.link(c, "impair.b -> server.input")
engine.configure(c)
engine.busywait = true
print("ready")
io.stdout:flush()
engine.main{no_report = true, duration = 3600}
"""


def fetch(there, address, n):
    """The SHA-256 of `n` answers over one connection."""
    with there.entered():
        connection = http.client.HTTPConnection(address, 8080, timeout=120)
        connection.connect()
    digests = []
    for _ in range(n):
        connection.request("GET", "/")
        digests.append(hashlib.sha256(connection.getresponse().read()).hexdigest())
    connection.close()
    return digests


def filling(length):
    return hashlib.sha256((PATTERN * (length // len(PATTERN) + 1))[:length]).hexdigest()


def test_a_client_of_linux_gets_every_byte(pair):
    here, there = pair
    addresses(there)
    with running(*here.command(PERIGEE, "connect", "server", "packet:left", "--servers",
                               "10.9.2.0/24", "--http", "/", "--response", "500000",
                               "--count", "8", "--json", "-")) as server:
        server.wait_for_engine()
        for i in range(1, 9):
            assert fetch(there, f"10.9.2.{i}", 2) == [filling(500000)] * 2, server.said
        assert server.finish() == 0
    results = checked(server.said[server.said.index("{"):].splitlines()[0])
    counts = results["server"]["counts"]
    assert counts["closed"] == 8 and counts["answers"] == 16, results


def test_a_client_of_linux_behind_loss_and_reordering(pair, tmp_path):
    here, there = pair
    addresses(there)
    script = tmp_path / "impaired.lua"
    script.write_text(IMPAIRED)
    with running(*here.command(PERIGEE, "run", script)) as server:
        server.wait_for("ready")
        for i in range(1, 4):
            assert fetch(there, f"10.9.2.{i}", 2) == [filling(300000)] * 2, server.said


def test_interrupted_it_reports_all_the_same(pair):
    here, there = pair
    addresses(there)
    server = begin(there)
    try:
        with running(*here.command(PERIGEE, "connect", "client", "packet:left", "--clients",
                                   "10.9.2.1..10.9.2.9", "--servers", "10.9.1.1", "--http",
                                   "/", "--life", "1h", "--concurrent", "5", "--json",
                                   "-")) as client:
            def all_open():
                client.read()
                table = there.run("ss", "-Htn", "state", "established").stdout
                return table.count("10.9.1.1:80") >= 5
            wait_until(all_open, "five connections")
            assert client.interrupt() == 0
    finally:
        server.shutdown()
        server.server_close()
    line = next(line for line in client.said.splitlines() if line.startswith("{"))
    counts = checked(line)["client"]["counts"]
    assert counts["started"] == counts["aborted"] == 5, client.said

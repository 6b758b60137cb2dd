# SPDX-License-Identifier: Apache-2.0
"""A graph that can be told to drop, and `perigee web` beside it."""

import contextlib
import http.client
import json
import os
import re

from helpers.command import PERIGEE, running, wait_until
from helpers.control import wait_for_socket

TOKEN = "0123456789abcdef-token"

# While a file of the folder exists, `gate` drops what comes.
GRAPH = """
engine.claim_name(%r)
local Gate = {drops = {"shut"}}
Gate.__index = Gate
function Gate:new() return setmetatable({shut = false}, Gate) end
function Gate:process(p)
  if self.shut then return nil, 1 end
  p.data[0] = 7
  return p
end
function Gate:tick()
  local file = io.open(%r)
  self.shut = file ~= nil
  if file then file:close() end
end
local c = config.new()
config.app(c, "in", require("apps.port.port").Port, "null")
config.app(c, "gate", Gate)
config.app(c, "fwd", require("apps.fwd.fwd").Fwd)
config.app(c, "sink", require("apps.basic.basic_apps").Sink)
config.link(c, "in.output -> gate.input")
config.link(c, "gate.output -> fwd.input")
config.link(c, "fwd.output -> sink.input")
engine.configure(c)
engine.Hz = 200
engine.main{duration = 300, no_report = true}
"""
LINKS = ["fwd.output -> sink.input", "gate.output -> fwd.input",
         "in.output -> gate.input"]


@contextlib.contextmanager
def graph(folder, name):
    script = folder / "graph.lua"
    script.write_text(GRAPH % (name, str(folder / "shut")))
    with running(PERIGEE, "run", script) as process:
        process.name = name
        wait_for_socket(process)
        yield process


class Web:
    """A running `perigee web`."""

    def __init__(self, process):
        process.wait_for("http://")
        self.process = process
        wait_until(lambda: process.read() and "\n" in process.said, "its address")
        self.url = process.said.split("\n")[0]
        self.port = int(re.search(r":(\d+)/", self.url)[1])

    def request(self, method, path, body=None, headers=(), host="127.0.0.1"):
        """The status, and the body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.putrequest(method, path, skip_host=True)
        for name, value in {"Host": host, **dict(headers)}.items():
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content

    def header(self, name, path):
        """A header of the page's answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", path)
        value = connection.getresponse().getheader(name)
        connection.close()
        return value

    def ask(self, name, body=b"{}", token=TOKEN, **headers):
        if isinstance(body, dict):
            body = json.dumps(body).encode()
        headers = {"X-Perigee": "1", "Authorization": f"Bearer {token}", **headers}
        return self.request("POST", f"/api/{name}", body, headers)

    def get(self, name, **body):
        status, content = self.ask(name, body)
        assert status == 200, content
        return json.loads(content)

    def refused(self, name, body, **others):
        status, content = self.ask(name, body, **others)
        assert status != 200, content
        return status, json.loads(content)["error"]


@contextlib.contextmanager
def web(*args, **env):
    env = {**os.environ, "PERIGEE_WEB_TOKEN": TOKEN, **env}
    with running(PERIGEE, "web", "--listen", "0", *args, env=env) as process:
        yield Web(process)

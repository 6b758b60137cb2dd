# SPDX-License-Identifier: Apache-2.0
"""A client of control sockets that uses none of Perigee's code, and graphs to look
into."""

import contextlib
import json
import socket

from helpers.command import PERIGEE, perigee, running, wait_until

# Half of what `source` sends, `half` drops by name; the rest has its first byte changed,
# goes on through an app with push(), and back into a fused region.
GRAPH = """
engine.claim_name(%r)
local basic = require("apps.basic.basic_apps")
local Half = {drops = {"not wanted"}}
Half.__index = Half
function Half:new() return setmetatable({n = 0}, Half) end
function Half:process(p)
  self.n = self.n + 1
  if self.n %% 2 == 0 then return nil, 1 end
  p.data[0] = 7
  return p
end
local c = config.new()
local Fwd = require("apps.fwd.fwd").Fwd
config.app(c, "source", basic.Source)
config.app(c, "half", Half)
config.app(c, "fwd", Fwd)
config.app(c, "tee", basic.Tee)
config.app(c, "last", Fwd)
config.app(c, "sink", basic.Sink)
config.link(c, "source.output -> half.input")
config.link(c, "half.output -> fwd.input")
config.link(c, "fwd.output -> tee.input")
config.link(c, "tee.output -> last.input")
config.link(c, "last.output -> sink.input")
%s
engine.configure(c)
engine.Hz = 1000
engine.main{duration = 100, no_report = true}
"""


@contextlib.contextmanager
def graph(folder, name, more="", options=()):
    """The graph runs, as `name`."""
    script = folder / f"{name}.lua"
    script.write_text(GRAPH % (name, more))
    with running(PERIGEE, *options, "run", script) as process:
        process.name = name
        if "--no-control" in options:
            process.wait_for_engine()
        else:
            wait_for_socket(process)
        yield process


def wait_for_socket(process):
    """Wait until the running process has a control socket; its path."""
    def path():
        assert process.read(), process.said
        return path_of(process.pid)
    return wait_until(path, "its socket")


def path_of(pid):
    """Its control socket, as `perigee ps` tells; None if it has none."""
    listed = {i["pid"]: i for i in json.loads(perigee("ps", "--json").stdout)}
    return listed.get(pid, {}).get("control")


class Client:
    """A connection to the control socket of the process."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(path)
        self.lines = self.socket.makefile("rb")

    def send(self, **request):
        self.socket.sendall(json.dumps(request).encode() + b"\n")

    def line(self):
        text = self.lines.readline()
        return json.loads(text) if text else None

    def ask(self, **request):
        self.send(**request)
        return self.line()

    def close(self):
        self.lines.close()
        self.socket.close()


def done(client, **request):
    """The answer to a request that isn't refused."""
    answer = client.ask(**request)
    assert "answer" in answer, answer
    return answer["answer"]

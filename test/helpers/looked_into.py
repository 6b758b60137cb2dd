# SPDX-License-Identifier: Apache-2.0
"""Graphs of each kind, between the interfaces `in` and `out` of a namespace, for tests of
what looks into running processes."""

import contextlib

from helpers.command import PERIGEE, running
from helpers.control import wait_for_socket
from helpers.network import Wire, veth

# Apps of one form each; a third of the packets is dropped by name, and all pass three
# apps before they are sent.
APPS = """
local Port = require("apps.port.port").Port
local c = config.new()
local PerPacket = {drops = {"third"}}
PerPacket.__index = PerPacket
function PerPacket:new() return setmetatable({}, self) end
function PerPacket:process(p)
  if p.data[13] == 2 then return nil, 1 end
  p.data[12] = p.data[12] + 1
  return p
end
local Fwd = {}
Fwd.__index = Fwd
function Fwd:new() return setmetatable({}, self) end
function Fwd:process(p) return p end
local Push = {}
Push.__index = Push
function Push:new() return setmetatable({}, self) end
function Push:push()
  local i, o = self.input.input, self.output.output
  while not link.empty(i) do
    local p = link.receive(i)
    p.data[12] = p.data[12] + 1
    link.transmit(o, p)
  end
end
local Odd = {} -- of a form that is never rewritten: it remembers what it is given
Odd.__index = Odd
function Odd:new() return setmetatable({queue = {}}, self) end
function Odd:push()
  for _ = 1, link.nreadable(self.input.input) do
    self.queue[#self.queue + 1] = link.receive(self.input.input)
  end
  while #self.queue > 0 do
    link.transmit(self.output.output, table.remove(self.queue, 1))
  end
end
config.app(c, "in", Port, "packet:in")
config.app(c, "third", PerPacket)
config.app(c, "middle", MIDDLE)
config.app(c, "last", LAST)
config.app(c, "out", Port, "packet:out")
config.link(c, "in.output -> third.input")
config.link(c, "third.output -> middle.input")
config.link(c, "middle.output -> last.input")
config.link(c, "last.output -> out.input")
"""

RUN = """
engine.configure(c)
engine.main{duration = 300, no_report = true}
"""


def script(middle, last, more=""):
    return (APPS.replace("MIDDLE", middle).replace("LAST", last) + more + RUN).encode()


# Branches, a loop, a Tee, a queue, elements that take headers off, and Discard.
CLICK = b"""
in :: FromDPDKDevice("packet:in") -> third :: Classifier(13/02, -);
third[0] -> Discard;
third[1] -> Paint(0) -> again :: Null -> twice :: PaintSwitch;
twice[0] -> Paint(1) -> again;
twice[1] -> copies :: Tee(2);
copies[0] -> Strip(14) -> Unstrip(14) -> queue :: Queue -> Unqueue
  -> ToDPDKDevice("packet:out");
copies[1] -> Counter -> Discard;
"""

SCRIPTS = {
    "fused": script("Fwd", "Fwd"),
    "push": script("Push", "Push"),
    "apart": script("Push", "Odd", "engine.fuse = false\n"),
    "mixed": script("Fwd", "Odd"),
    "cpus": script("Fwd", 'require("apps.fwd.fwd").Fwd',
                   'config.cpu(c, "last", 1) config.cpu(c, "out", 1)\n'),
}
KINDS = [*SCRIPTS, "click"]


def command(kind, folder, *options):
    """The command line that runs a graph of the kind, whose file is put into folder."""
    file = folder / f"{kind}.{'click' if kind == 'click' else 'lua'}"
    file.write_bytes(CLICK if kind == "click" else SCRIPTS[kind])
    return [PERIGEE, *options, "click" if kind == "click" else "run", file]


class Between:
    """A namespace with interfaces `in` and `out`, and what is at their other ends."""

    def __init__(self, namespace):
        self.router, self.hosts = namespace("r"), namespace("h")
        veth(self.router, "in", self.hosts, "source")
        veth(self.router, "out", self.hosts, "sink")

    @contextlib.contextmanager
    def wires(self):
        with Wire(self.hosts, "source") as source, Wire(self.hosts, "sink") as sink:
            yield source, sink

    @contextlib.contextmanager
    def graph(self, kind, folder, *options):
        """A running graph of the kind."""
        with running(*self.router.command(*command(kind, folder, *options))) as process:
            wait_for_socket(process)
            yield process

-- SPDX-License-Identifier: Apache-2.0
-- Snabb's basic apps: Source, Join, Split, Sink, Tee, Repeater; and, per packet,
-- Truncate and Sample. Loops count to a number read beforehand: such loops the JIT
-- compiles well whatever burst it sees first. Without an output, an app frees its
-- packets.

local arguments = require("core.lib.arguments")
local link = require("core.link")
local packet = require("core.packet")
local send_copies = require("apps.basic.kept_copies")
local unfused = require("core.fuse.unfused")

local nreadable, receive, transmit = link.nreadable, link.receive, link.transmit

local function class()
  local c = {}
  c.__index = c
  return c
end

local function whole_number(app, what, value, least, most)
  return arguments.whole(app .. ": " .. what, tonumber(value) or value, least, most)
end

-- Source -------------------------------------------------------------------

--- Source(size): on each output, engine.pull_npackets packets of `size` zero
--- bytes (default 60) a breath.
local Source = class()
Source.division, Source.undivided = "none", "it makes packets itself"
Source.reconfig_keeps = {}

function Source.check_arg(size)
  whole_number("Source", "its packet size", size or 60, 0, packet.max_payload)
end

function Source:new(size)
  size = tonumber(size) or 60
  return setmetatable({size = size, packet = packet.resize(packet.allocate(), size)},
    self)
end

local function emit(output, original, n)
  for _ = 1, n do transmit(output, packet.clone(original)) end
end

function Source:pull()
  for i = 1, #self.output do
    emit(self.output[i], self.packet, engine.pull_npackets)
  end
end

function Source:stop()
  packet.free(self.packet)
end

-- Join, Split, Sink, Tee -----------------------------------------------------

local function move(input, output, n)
  for _ = 1, n do transmit(output, receive(input)) end
end

local function discard(input, n)
  for _ = 1, n do packet.free(receive(input)) end
end

-- The links of apps that have one input or output of a fixed name.
local ONE_EACH = {input = {input = true}, output = {output = true}}

--- Join: every input to `output`. It may have other outputs: Snabb's programs use one
--- as a place to put packets.
local Join = class()
Join.division = "any"
Join.reconfig_keeps = {}

function Join:new()
  return setmetatable({}, self)
end

Join.needs_packets = true

function Join:push()
  local output = self.output.output
  for i = 1, #self.input do
    local input = self.input[i]
    if output then
      move(input, output, nreadable(input))
    else
      discard(input, nreadable(input))
    end
  end
end

--- Split: inputs to outputs; where one output is full the next takes over.
local Split = class()
Split.reconfig_keeps = {}

function Split:new()
  return setmetatable({}, self)
end

Split.needs_packets = true

function Split:push()
  for i = 1, #self.input do
    local input = self.input[i]
    for o = 1, #self.output do
      local room = link.nwritable(self.output[o])
      move(input, self.output[o], math.min(nreadable(input), room))
    end
    -- All outputs are full: what remains is dropped there, as txdrop.
    local last = self.output[#self.output]
    if last then
      move(input, last, nreadable(input))
    else
      discard(input, nreadable(input))
    end
  end
end

--- Sink: frees what it receives.
local Sink = class()
Sink.division = "any"
Sink.reconfig_keeps = {}

function Sink:new()
  return setmetatable({}, self)
end

Sink.needs_packets = true

function Sink:push()
  for i = 1, #self.input do discard(self.input[i], nreadable(self.input[i])) end
end

local function copy_to_all(input, outputs, n)
  for _ = 1, n do
    local p = receive(input)
    for o = 1, #outputs - 1 do transmit(outputs[o], packet.clone(p)) end
    transmit(outputs[#outputs], p)
  end
end

--- Tee: every input to all outputs.
local Tee = class()
Tee.division = "any"
Tee.reconfig_keeps = {}

function Tee:new()
  return setmetatable({}, self)
end

Tee.needs_packets = true

function Tee:push()
  for i = 1, #self.input do
    local input = self.input[i]
    if #self.output > 0 then
      copy_to_all(input, self.output, nreadable(input))
    else
      discard(input, nreadable(input))
    end
  end
end

-- Repeater ---------------------------------------------------------------------

--- Repeater: keeps what it receives from `input` and sends copies of all of it
--- to `output`, over and over, engine.pull_npackets a breath.
local Repeater = class()
Repeater.division = "none"
Repeater.undivided = "it sends what came before again, in one row"
Repeater.link_names = ONE_EACH
Repeater.reconfig_keeps = {"index", "packets"}

function Repeater:new()
  return setmetatable({index = 1, packets = {}}, self)
end

function Repeater:push()
  local input = self.input.input
  for _ = 1, nreadable(input) do
    self.packets[#self.packets + 1] = receive(input)
  end
  if #self.packets > 0 and self.output.output then
    self.index = send_copies(self.packets, self.index, self.output.output,
      engine.pull_npackets)
  end
end

function Repeater:stop()
  for _, p in ipairs(self.packets) do packet.free(p) end
end

-- Truncate, Sample ---------------------------------------------------------------

--- Truncate(n): makes every packet n bytes long; new bytes are zero.
local Truncate = class()
Truncate.division = "any"
Truncate.reconfig_keeps = {}
Truncate.link_names = ONE_EACH

function Truncate.check_arg(n)
  whole_number("Truncate", "its length", n, 0, packet.max_payload)
end

function Truncate:new(n)
  return unfused.new(self, {n = tonumber(n)})
end

function Truncate:process(p)
  return packet.resize(p, self.n)
end

unfused.give_push(Truncate)

--- Sample(n): passes every nth packet and drops the others.
local Sample = class()
Sample.division, Sample.undivided = "none", "it takes every so many of all packets"
Sample.reconfig_keeps = {"seen"}
Sample.link_names = ONE_EACH
Sample.drops = {"not sampled"}

function Sample.check_arg(n)
  whole_number("Sample", "n", n, 1, 2 ^ 31)
end

function Sample:new(n)
  return unfused.new(self, {n = tonumber(n), seen = 1})
end

function Sample:process(p)
  if self.seen < self.n then
    self.seen = self.seen + 1
    return nil, 1
  end
  self.seen = 1
  return p
end

unfused.give_push(Sample)

return {
  Source = Source, Join = Join, Split = Split, Sink = Sink, Tee = Tee,
  Repeater = Repeater, Truncate = Truncate, Sample = Sample,
}

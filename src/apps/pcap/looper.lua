-- SPDX-License-Identifier: Apache-2.0
-- Looper: sends a set of packets (lib.pcap.packet_set) over and over. Ports that take
-- packets which others have, too, get them past the link, by reference count; all else
-- gets copies.

local ethernet = require("net.wire.ethernet")
local ffi = require("ffi")
local C = require("core.native")
local arguments = require("core.lib.arguments")
local counter = require("core.counter")
local engine = require("core.app")
local failure = require("core.failure")
local link = require("core.link")
local packet = require("core.packet")
local packet_set = require("lib.pcap.packet_set")
local reader = require("lib.pcap.reader")

local BURST = C.PORT_BURST
local ROUNDS = 4 -- bursts in a breath, as regions send

local replay_t = ffi.typeof("struct replay")
local wire_bits = ethernet.bits

local Looper = {argument = "table", shm = {packets = {counter}}} -- sent to the outputs
Looper.__index = Looper

-- The packets to send; nil and why not, or nil. Those that were given are freed where
-- the app is started a second time.
local function packets_of(arg)
  local kept = arg.kept
  if not kept then
    arguments.check("Looper: filename", "string", arg.filename)
    return packet_set.load(arg.filename, {any_link = true})
  end
  if kept.set then return kept end
  return packet_set.load(kept.path, kept.options)
end

-- Packets to send to an output.
local function most_of(arg, set)
  return math.min(arg.limit or math.huge, (arg.loops or math.huge) * set.n)
end

--- Send the packets of a savefile to each output, at that one's pace. `arg` is a table:
---  filename: of a pcap or pcapng file of any link type, or
---  kept: what packet_set.load gave for it, which then is the app's;
---  loops: how many times to go through the file (default math.huge: for ever);
---  limit: the most packets to send to an output (default: any number).
--- Raises a failure when the packets can't be kept in memory. Fields: `packets`,
--- `bytes` and `bits` (on the wire) sent to all outputs; `done`; `started`, the time
--- (engine.now) of the first packet.
function Looper:new(arg)
  local kept, why = packets_of(arg)
  if not kept then
    local path = arg.filename or arg.kept.path
    reader.open(path, {any_link = true}):close() -- says why it can't be read
    failure.raise("%s", why or ("%s isn't a file of packets that can be kept in memory:"
      .. " it is empty, damaged, a pipe, or has packets of over %d bytes"):format(
      path, packet.max_payload))
  end
  local most = most_of(arg, kept.set)
  return setmetatable({
    kept = kept, set = kept.set, most = most, done = most == 0,
    packets = 0, bytes = 0, bits = 0, oversize = 0, scheduled = 0,
    ways = {}, replay_of = {}, ports = {}, held = false,
  }, Looper)
end

--- Send nothing until go().
function Looper:hold() self.held = true end
function Looper:go() self.held = false end

--- Go on with other limits.
function Looper:reconfig(arg) self.most = most_of(arg, self.set) end

--- Another file is another app.
function Looper.reconfig_restarts(before, after)
  return before.filename ~= after.filename or before.kept ~= after.kept
end

-- What is to be known of an output. A way is of one shape, whatever it leads to.
local function way(self, name, output)
  local replay = self.replay_of[name] or replay_t()
  self.replay_of[name] = replay
  return {output = output, replay = replay, port = self.ports[output] or false}
end

--- The engine tells which links there are.
function Looper:link()
  self.ways = {}
  for name, output in pairs(self.output) do
    if type(name) == "string" then table.insert(self.ways, way(self, name, output)) end
  end
end
Looper.unlink = Looper.link

--- The engine tells which links lead to ports that take shared packets
--- (core.fuse.direct_links).
function Looper:send_shared(ports)
  self.ports = ports
  self:link()
end

local function send_shared(set, w, left)
  for _ = 1, ROUNDS do
    local most = math.min(left, BURST)
    local n = C.pg_packet_set_send(w.port, w.output, set, w.replay, most)
    left = left - n
    if n < BURST then return end
  end
end

local function send_copies(set, w, n)
  local output, replay, packets, slots = w.output, w.replay, set.packets, set.slots
  for _ = 1, n do
    local p, at = packets[replay.at], replay.at + 1
    local length = p.length
    link.transmit(output, packet.from_pointer(p.buf_addr + p.data_off, length))
    replay.at = at < slots and at or 0
    replay.packets = replay.packets + 1
    replay.bytes = replay.bytes + length
    replay.bits = replay.bits + wire_bits(length)
  end
end

function Looper:pull()
  if self.held then return end
  local packets, bytes, bits, done = 0, 0, 0, true
  if not self.started then self.started = engine.now() end
  for i = 1, #self.ways do
    local w = self.ways[i]
    local replay = w.replay
    local left = self.most - replay.packets
    if w.port then
      send_shared(self.set, w, left)
    else
      send_copies(self.set, w, math.min(left, engine.pull_npackets,
        link.nwritable(w.output)))
    end
    packets, bytes = packets + replay.packets, bytes + replay.bytes
    bits = bits + replay.bits
    done = done and replay.packets >= self.most
  end
  self.packets, self.bytes, self.bits, self.done = packets, bytes, bits, done
end

function Looper:tick()
  counter.set(self.shm.packets, self.packets)
end

--- For engine.finished: does it end, and has it ended?
function Looper:ends() return self.most < math.huge end
function Looper:ended() return self.done end

function Looper:report()
  print(("  %s: %d packets in memory, %.0f sent"):format(self.kept.path, self.set.n,
    self.packets))
end

function Looper:stop()
  self.kept:close()
end

return {Looper = Looper}

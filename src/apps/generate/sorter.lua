-- SPDX-License-Identifier: Apache-2.0
-- Sorter: hands the packets of several Generators to a Meter each, by the number in
-- their records. Others end here, counted.

local link = require("core.link")
local packet = require("core.packet")
local probe = require("lib.traffic.probe")

local receive, transmit, free = link.receive, link.transmit, packet.free
local read, floor = probe.read, math.floor
local SIZE, SPAN = probe.SIZE, probe.SPAN

local Sorter = {}
Sorter.__index = Sorter
Sorter.reconfig_keeps = {"packets", "bytes", "wire"}

local function places_of(stream) return stream.places or {stream.offset} end

--- `arg.streams`: a list of {number (as the Generator's `stream`), offset (of the
--- record in its packets) or places (a list of those where it may be), link (the name
--- of an output)}.
function Sorter:new(arg)
  local sorter = setmetatable({offsets = {}, streams = arg.streams, of = {},
                             packets = 0, bytes = 0, wire = 0}, self)
  local seen = {}
  for _, stream in ipairs(arg.streams) do
    for _, offset in ipairs(places_of(stream)) do
      if not seen[offset] then table.insert(sorter.offsets, offset) end
      seen[offset] = true
    end
  end
  return sorter
end

function Sorter:link()
  self.source, self.of = self.input.input, {}
  for _, stream in ipairs(self.streams) do
    local at = {}
    for _, offset in ipairs(places_of(stream)) do at[offset] = true end
    self.of[stream.number] = {at = at, sink = self.output[stream.link]}
  end
end
Sorter.unlink = Sorter.link

-- The link for a packet, or nil.
local function sink_of(self, p)
  local offsets = self.offsets
  for i = 1, #offsets do
    local offset = offsets[i]
    if p.length >= offset + SIZE then
      local number = read(p.data + offset)
      local stream = number and self.of[floor(number / SPAN)]
      if stream and stream.at[offset] then return stream.sink end
    end
  end
end

local function drop(self, p)
  local size = p.length
  self.packets, self.bytes = self.packets + 1, self.bytes + size
  self.wire = self.wire + (size < 60 and 60 or size)
  free(p)
end

local function sort(self, input, n)
  for _ = 1, n do
    local p = receive(input)
    local sink = sink_of(self, p)
    if sink then transmit(sink, p) else drop(self, p) end
  end
end

Sorter.needs_packets = true

function Sorter:push()
  local input = self.source
  if input then sort(self, input, link.nreadable(input)) end
end

--- What was for none of the streams: `packets`, `bytes` and `bits` (on the wire).
function Sorter:figures()
  return {packets = self.packets, bytes = self.bytes,
          bits = 8 * (self.wire + 24 * self.packets)}
end

function Sorter:report()
  print(("  %.0f packets of no stream"):format(self.packets))
end

return {Sorter = Sorter}

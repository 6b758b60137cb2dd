-- SPDX-License-Identifier: Apache-2.0
-- Callback: an app that gives what it receives to a C function, through a ring of
-- descriptors like a network card's (program.firehose.header). The packets themselves
-- aren't copied.

local ffi = require("ffi")
local failure = require("core.failure")
local link = require("core.link")
local packet = require("core.packet")

local band, min = bit.band, math.min
local nreadable, receive, free = link.nreadable, link.receive, packet.free

ffi.cdef [[
struct firehose_rdesc {
  uint64_t address;
  uint16_t length;
  uint16_t cksum;
  uint8_t status;
  uint8_t errors;
  uint16_t vlan;
} __attribute__((packed));
int firehose_callback_v1(const char *port, char **packets, struct firehose_rdesc *ring,
                         int ring_size, int index);
void firehose_start(void);
void firehose_stop(void);
]]

local DONE_AND_END_OF_PACKET = 3 -- bits of a descriptor's status (82599, 7.1.5)

local Callback = {link_names = {input = {input = true}, output = {}}}
Callback.__index = Callback

--- `arg`: library (from ffi.load), port (its name, text), size (descriptors in the
--- ring, a power of two).
function Callback:new(arg)
  local size = arg.size
  return setmetatable({
    call = arg.library.firehose_callback_v1, size = size, index = 0, pending = 0,
    name = ffi.new("char[?]", #arg.port + 1, arg.port), port = arg.port,
    ring = ffi.new("struct firehose_rdesc[?]", size),
    data = ffi.new("char *[?]", size), packets = ffi.new("struct packet *[?]", size),
    seen = 0,
  }, Callback)
end

-- Put n packets into the ring, at slot `at` and behind.
local function fill(self, input, at, n)
  local ring, data, packets, mask = self.ring, self.data, self.packets, self.size - 1
  for _ = 1, n do
    local p = receive(input)
    local slot = ring[at]
    packets[at], data[at] = p, ffi.cast("char *", p.data)
    slot.address = ffi.cast("uintptr_t", p.data)
    slot.length, slot.status = p.length, DONE_AND_END_OF_PACKET
    at = band(at + 1, mask)
  end
end

-- Take n packets that the callback is done with out of the ring, from slot `at` on.
local function clear(self, at, n)
  local ring, packets, mask = self.ring, self.packets, self.size - 1
  for _ = 1, n do
    ring[at].status = 0
    free(packets[at])
    at = band(at + 1, mask)
  end
end

-- What it has returned must be a place between its argument and the last packet.
local function check(self, index, pending)
  local used = band(index - self.index, self.size - 1)
  if index < 0 or index >= self.size or used > pending then
    failure.raise("firehose_callback_v1 returned %d for port %s; of a ring of %d it "
      .. "was given %d packets from %d on", index, self.port, self.size, pending,
      self.index)
  end
  return used
end

--- Give the callback what it has left over, and what has come.
function Callback:push()
  local input = self.input.input
  local n = min(nreadable(input), self.size - 1 - self.pending)
  fill(self, input, band(self.index + self.pending, self.size - 1), n)
  local pending = self.pending + n
  if pending == 0 then return end
  local index = self.call(self.name, self.data, self.ring, self.size, self.index)
  local used = check(self, index, pending)
  clear(self, self.index, used)
  self.index, self.pending, self.seen = index, pending - used, self.seen + used
end

function Callback:report()
  print(("  %.0f packets seen by the callback, %d left over"):format(self.seen,
    self.pending))
end

function Callback:stop()
  clear(self, self.index, self.pending)
end

return {Callback = Callback}

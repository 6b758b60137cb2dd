-- SPDX-License-Identifier: Apache-2.0
-- Source ports that flows get for as long as they live, and what each stands for. One
-- is free again when the flow and its answers have ended, or the connection has; the
-- port that has been free for longest is given first.

local bit = require("bit")
local ffi = require("ffi")

local ports = {}

local band, bor = bit.band, bit.bor
local FIRST, PORTS = 1024, 65536
local TCP, FIN, SYN, RST = 6, 1, 2, 4
local BOTH = 3
local GIVEN, ANSWERED = 1, 2 -- values of `used`
local NOT_SYN, NONE_FREE = 3, 4

--- The sides of a connection, for watch().
ports.FORWARD, ports.REPLY = 1, 2

-- What a port stands for: a source, and where it sent to (0 where nobody asks). `made`
-- counts how often the port was given; `used` 0: it is free; `ends`: sides that have
-- sent FIN.
local mappings = ffi.typeof[[struct {
  uint32_t address, destination, server, made, references;
  uint16_t port;
  uint8_t used, ends;
}[?] ]]

--- What a flow's record has: the port (0: none yet), its `made` then; and what load
--- balancers keep.
ports.area = ffi.typeof("struct { uint32_t port, made, server, open; }")

--- Why an element that gives ports drops packets.
ports.DROPS = {"no flow", "no ports", "flow doesn't begin with SYN", "no port is free"}

local Ports = {}
Ports.__index = Ports

--- All ports from 1024 on, free.
function ports.new()
  local self = setmetatable({first = 0, count = PORTS - FIRST}, Ports)
  self.mappings, self.free = mappings(PORTS), ffi.new("uint16_t[?]", PORTS)
  for i = 0, self.count - 1 do self.free[i] = FIRST + i end
  return self
end

-- Nothing leads to the port's mapping any more, but late packets keep it until another
-- flow has the port.
local function give(self, port)
  self.mappings[port].used = 0
  self.free[(self.first + self.count) % PORTS] = port
  self.count = self.count + 1
end

--- A port for the flow with this area, whose packet has these ends, and its mapping; or
--- nil: none is free.
function Ports:take(area, ends)
  if self.count == 0 then return nil end
  local port = self.free[self.first]
  self.first, self.count = (self.first + 1) % PORTS, self.count - 1
  local m = self.mappings[port]
  m.address, m.port, m.destination, m.server = ends.source, ends.sport, 0, 0
  m.made, m.references, m.used, m.ends = m.made + 1, 1, GIVEN, 0
  area.port, area.made = port, m.made
  return port, m
end

--- Does the flow with this area have its port still? Until another flow has it, late
--- packets of an ended connection do, a new one's (by `flags`, of TCP) don't.
function Ports:has(area, flags)
  local m = self.mappings[area.port]
  return area.port ~= 0 and m.made == area.made
    and (m.used ~= 0 or band(flags, SYN) == 0)
end

--- The flow with this area has answers that go to the port. False: it is nobody's. The
--- second result: are they its first?
function Ports:join(area, port)
  local m = self.mappings[port]
  if m.used == 0 then return false, false end
  local first = m.used == GIVEN
  m.references, m.used = m.references + 1, ANSWERED
  area.port, area.made = port, m.made
  return true, first
end

--- One side of the port's TCP connection has sent these flags: is that its end?
function Ports:watch(port, side, flags)
  local m = self.mappings[port]
  if m.used == 0 or band(flags, FIN + RST) == 0 then return end
  if band(flags, FIN) ~= 0 then m.ends = bor(m.ends, side) end
  if band(flags, RST) ~= 0 or m.ends == BOTH then give(self, port) end
end

--- A flow of either direction, with this area, has ended.
function Ports:leave(area)
  local m = self.mappings[area.port]
  if area.port == 0 or m.used == 0 or m.made ~= area.made then return end
  m.references = m.references - 1
  if m.references == 0 then give(self, area.port) end
end

--- A port for the flow with this area, and its mapping; or nil, and why there is none,
--- an index of DROPS. Of the element: `ports`, `ends` of the flow's packet, and
--- `only_syn`, whether TCP connections must begin with SYN.
function ports.begin(self, area)
  local ends = self.ends
  if self.only_syn and ends.protocol == TCP and band(ends.tcp_flags, SYN) == 0 then
    return nil, NOT_SYN
  end
  local port, m = self.ports:take(area, ends)
  if port then return port, m end
  if not self.told then
    self:say("ERROR %s :: %s : no more ports available !", self.name, self.class.name)
  end
  self.told = true
  return nil, NONE_FREE
end

return ports

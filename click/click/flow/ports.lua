-- SPDX-License-Identifier: Apache-2.0
-- Source ports that flows get for as long as they live, and what each stands for. One
-- is free again when the flow and its answers have ended, or the connection has; the
-- port that has been free for longest is given first.

local bit = require("bit")
local C = require("click.flow.areas")
local ffi = require("ffi")

local tcp_flag = require("net.wire.tcp_flag")
local wire = require("click.net.wire")

local ports = {}

local band, bor = bit.band, bit.bor
local swap16 = wire.swap16
local FIRST, PORTS = C.PORT_FIRST, C.PORT_END
local TCP, FIN, SYN, RST = 6, tcp_flag.FIN, tcp_flag.SYN, tcp_flag.RST
local BOTH = 3
local GIVEN, ANSWERED = C.PORT_GIVEN, C.PORT_GIVEN + 1 -- values of `used`
local NOT_SYN, NONE_FREE = 3, 4
local CHOICES = 64 -- ports that are looked at for a flow, for each copy of the router

--- The sides of a connection, for watch().
ports.FORWARD, ports.REPLY = 1, 2

local mappings = ffi.typeof("struct click_port[?]")
local waiting = ffi.typeof("struct click_flow_id[?]")

--- What a flow's record has (click_port_area in flow_areas.h).
ports.area = ffi.typeof("struct click_port_area")

--- Why an element that gives ports drops packets.
ports.DROPS = {"no flow", "no ports", "flow doesn't begin with SYN", "no port is free"}

local Ports = {}
Ports.__index = Ports

--- All ports from 1024 on, free, for an element. In copies of a router on several CPUs
--- a flow gets a port by which its answers come to the copy.
function ports.new(element)
  local copy = element.router.options and element.router.options.copy
  local self = setmetatable({first = 0, count = PORTS - FIRST, copy = copy}, Ports)
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

-- Do answers from these ends, in the packet's order of bytes, to the port of `own` come
-- to this copy (src/native/kernels/flows.c)?
local function comes_here(copy, far, far_port, own, port)
  local both = far_port + swap16(port) * 2 ^ 16
  return C.pg_copy_of(C.pg_tuple_hash(far, own, both), copy.of) == copy.number
end

local function next_free(self)
  local port = self.free[self.first]
  self.first, self.count = (self.first + 1) % PORTS, self.count - 1
  return port
end

-- A free port for a flow whose answers come from `far` to `own`; nil: there is none.
local function choose(self, far, far_port, own)
  local copy = self.copy
  if not copy then return self.count > 0 and next_free(self) or nil end
  for _ = 1, math.min(self.count, CHOICES * copy.of) do
    local port = next_free(self)
    if comes_here(copy, far, far_port, own, port) then return port end
    self.free[(self.first + self.count) % PORTS] = port
    self.count = self.count + 1
  end
end

--- A port of the address `own` for the flow with this area, whose packet has these
--- ends and whose answers come from the address `far`; and its mapping. Or nil: none is
--- free.
function Ports:take(area, ends, far, own)
  local port = choose(self, far, ends.dport, own)
  if not port then return nil end
  local m = self.mappings[port]
  m.address, m.port, m.destination, m.server = ends.source, ends.sport, 0, 0
  m.made, m.references, m.used, m.ends = m.made + 1, 1, GIVEN, 0
  area.port, area.made = port, m.made
  area.address, area.destination = ends.source, ends.destination
  area.sport, area.dport = ends.sport, ends.dport
  Ports.sign(area)
  return port, m
end

--- What the area says is what is meant: by this a flow goes on in another process.
function Ports.sign(area) area.sum = C.pg_flow_port_sum(area) end

-- Those ports are free that no flow has.
local function refill(self)
  self.first, self.count = 0, 0
  for port = FIRST, PORTS - 1 do
    if self.mappings[port].used == 0 then
      self.free[self.count] = port
      self.count = self.count + 1
    end
  end
end

--- For net.keep (click.flow.kept): flows of a former process have their ports still.
function Ports:kept_area(a)
  self.waiting = self.waiting or waiting(PORTS)
  a.kind, a.port, a.owner = C.AREA_PORT, self.mappings, self.waiting
  if self.copy then a.copies, a.copy = self.copy.of, self.copy.number end
end

--- The ports of all flows of a file are known.
function Ports:kept_seen() refill(self) end

--- All of these flows that go on are there: the ports of others are free.
function Ports:kept_done()
  for port = FIRST, self.waiting and PORTS - 1 or 0 do
    local id, m = self.waiting[port], self.mappings[port]
    if id.source ~= 0 or id.destination ~= 0 or id.protocol ~= 0 then
      m.references = m.references - 1
      if m.used ~= 0 and m.references == 0 then give(self, port) end
    end
  end
  self.waiting = nil
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

local function none_free(self)
  if not self.told then
    self:say("ERROR %s :: %s : no more ports available !", self.name, self.class.name)
  end
  self.told = true
  return NONE_FREE
end

--- Why the element gives no port to the flow of its `tuple`, an index of DROPS, as
--- far as that is known without one; or nil. With `only_syn` TCP flows begin with
--- SYN.
function ports.refusal(self)
  local ends = self.tuple
  if self.only_syn and ends.protocol == TCP and band(ends.tcp_flags, SYN) == 0 then
    return NOT_SYN
  end
  return self.ports.count == 0 and none_free(self) or nil
end

--- A port of `own` for the flow with this area, whose answers come from `far`, and its
--- mapping; or nil, and why there is none.
function ports.begin(self, area, far, own)
  local refusal = ports.refusal(self)
  if refusal then return nil, refusal end
  local port, m = self.ports:take(area, self.tuple, far, own)
  if port then return port, m end
  return nil, none_free(self)
end

return ports

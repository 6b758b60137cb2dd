-- SPDX-License-Identifier: Apache-2.0
-- FlowIPNAT gives each flow a source port of one address, FlowIPNATReverse brings the
-- answers back. Each is behind a flow manager; a port is free again when the flows of
-- both have ended.

local bit = require("bit")
local ffi = require("ffi")

local C = require("core.declare")("native/flow_ends.h")
local element = require("click.element")
local note = require("click.note")
local state = require("click.flow.state")
local wire = require("click.net.wire")

local band, bor = bit.band, bit.bor
local read_ends, set_end = C.pg_flow_ends, C.pg_flow_set_end
local swap16, DST_IP = wire.swap16, note.DST_IP
local FIRST, PORTS = 1024, 65536
local NO_FLOW, NO_PORTS, NOT_SYN, NONE_FREE = 1, 2, 3, 4
local NO_MAPPING = 3
local FIN, SYN, RST = 1, 2, 4
local FORWARD, REPLY, BOTH = 1, 2, 3

-- What a port stands for. `made` counts how often it was given; `ends`: sides that have
-- sent FIN.
local mappings = ffi.typeof[[struct {
  uint32_t address, made, references;
  uint16_t port;
  uint8_t used, ends;
}[?] ]]
-- What a flow's record has: the port (0: none yet), and its `made` then.
local area_type = ffi.typeof("struct { uint32_t port, made; }")

local FlowIPNAT = element.define{
  name = "FlowIPNAT", summary = "gives flows ports of one address",
  processing = "h/h", flow_state = area_type, lengthens = 0,
  drops = {"no flow", "no ports", "flow doesn't begin with SYN", "no port is free"},
  reads = {"FLOW_ID", "NETWORK_HEADER", "TRANSPORT_HEADER"},
  arguments = {
    {"SIP", "ip", required = true},
    {"ACCEPT_NONSYN", "bool", default = true, keyword = true},
    {"STATE", "bool", default = false, keyword = true},
  },
  notes = [[
Ports are 1024 to 65535, the one that has been free for longest first. One is free again
when the flow managers have ended the flow and all of its answers, or, with STATE
true, when both sides of a TCP connection have sent FIN or one RST. Whoever sends to a
port in use gets through FlowIPNATReverse.]],
  differs = "ACCEPT_NONSYN false works. With STATE true, late packets keep the port of "
    .. "their connection. Packets without ports are dropped. A port comes back where "
    .. "no answer came, too.",
}

function FlowIPNAT:configure(a)
  self.source = wire.number_of(a.SIP)
  self.only_syn, self.watches = not a.ACCEPT_NONSYN, a.STATE
  self.mappings, self.ends = mappings(PORTS), ffi.new("struct click_flow_ends")
  self.free, self.first, self.count = ffi.new("uint16_t[?]", PORTS), 0, PORTS - FIRST
  for i = 0, self.count - 1 do self.free[i] = FIRST + i end
end

function FlowIPNAT:initialize() self.area_of = state.of(self) end

-- Take the port that has been free for longest, or nil.
local function take(self)
  if self.count == 0 then return nil end
  local port = self.free[self.first]
  self.first, self.count = (self.first + 1) % PORTS, self.count - 1
  return port
end

-- Nothing leads to the port's mapping any more, but late packets keep it until another
-- flow has the port.
local function give(self, port)
  self.mappings[port].used = 0
  self.free[(self.first + self.count) % PORTS] = port
  self.count = self.count + 1
end

local function begin(self, area)
  local ends = self.ends
  if self.only_syn and ends.protocol == 6 and band(ends.tcp_flags, SYN) == 0 then
    return nil, NOT_SYN
  end
  local port = take(self)
  if not port then
    if not self.told then
      self:say("ERROR %s :: %s : no more ports available !", self.name, self.class.name)
    end
    self.told = true
    return nil, NONE_FREE
  end
  local m = self.mappings[port]
  m.address, m.port = ends.source, ends.sport
  m.made, m.references, m.used, m.ends = m.made + 1, 1, 1, 0
  area.port, area.made = port, m.made
  return port
end

--- One side of a TCP connection has sent these flags: is that its end?
function FlowIPNAT:watch(port, side)
  local flags, m = self.ends.tcp_flags, self.mappings[port]
  if m.used == 0 or band(flags, FIN + RST) == 0 then return end
  if band(flags, FIN) ~= 0 then m.ends = bor(m.ends, side) end
  if band(flags, RST) ~= 0 or m.ends == BOTH then give(self, port) end
end

--- A flow of either direction has ended.
function FlowIPNAT:flow_ended(area)
  local m = self.mappings[area.port]
  if area.port == 0 or m.used == 0 or m.made ~= area.made then return end
  m.references = m.references - 1
  if m.references == 0 then give(self, area.port) end
end

function FlowIPNAT:make_process()
  local area_of, ends, source, watches = self.area_of, self.ends, self.source,
    self.watches
  local all = self.mappings
  return function (_, p)
    local area = area_of(p)
    if not area then return nil, NO_FLOW end
    if not read_ends(p, ends) then return nil, NO_PORTS end
    local port = area.port
    local m = all[port]
    if port == 0 or m.made ~= area.made
      or m.used == 0 and band(ends.tcp_flags, SYN) ~= 0 then
      local reason
      port, reason = begin(self, area)
      if not port then return nil, reason end
    end
    set_end(p, false, source, swap16(port))
    if watches then self:watch(port, FORWARD) end
    return p
  end
end

-- FlowIPNATReverse -------------------------------------------------------------------

local FlowIPNATReverse = element.define{
  name = "FlowIPNATReverse", summary = "brings answers back to FlowIPNAT's flows",
  processing = "h/h", flow_state = area_type, lengthens = 0,
  drops = {"no flow", "no ports", "no mapping"},
  reads = {"FLOW_ID", "NETWORK_HEADER", "TRANSPORT_HEADER"},
  arguments = {{"NAT", "element", required = true, class = "FlowIPNAT"}},
  notes = "It sets the destination annotation, too.",
}

function FlowIPNATReverse:configure(a) self.nat = a.NAT end

function FlowIPNATReverse:initialize() self.area_of = state.of(self) end

--- A flow of answers has ended.
function FlowIPNATReverse:flow_ended(area) self.nat:flow_ended(area) end

-- The port that a flow of answers goes to, or nil.
local function attach(nat, area)
  local port = swap16(nat.ends.dport)
  local m = nat.mappings[port]
  if m.used == 0 then return nil end
  m.references = m.references + 1
  area.port, area.made = port, m.made
  return port
end

function FlowIPNATReverse:make_process()
  local area_of, nat = self.area_of, self.nat
  local all, ends, watches = nat.mappings, nat.ends, nat.watches
  return function (_, p)
    local area = area_of(p)
    if not area then return nil, NO_FLOW end
    if not read_ends(p, ends) then return nil, NO_PORTS end
    local port = area.port
    if port == 0 or all[port].made ~= area.made then port = attach(nat, area) end
    if not port then return nil, NO_MAPPING end
    local m = all[port]
    set_end(p, true, m.address, m.port)
    p.note32[DST_IP] = m.address
    if watches then nat:watch(port, REPLY) end
    return p
  end
end

return {FlowIPNAT, FlowIPNATReverse}

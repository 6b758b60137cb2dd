-- SPDX-License-Identifier: Apache-2.0
-- What sources of UDP and TCP packets have in common that make many flows: arguments,
-- rates and limits, pushing and pulling, handlers. A class of them (flows.define) has
-- make_templates(self) and make_packet(self).

local checksum = require("net.checksum.checksum")
local ffi = require("ffi")
local bit = require("bit")
local element = require("click.element")
local frames = require("click.traffic.frames")
local note = require("click.note")
local packet = require("core.packet")
local schedule = require("net.rate.schedule")
local slots = require("click.traffic.slots")

local SHORTEST = 60
local PORTS = frames.TRANSPORT -- where the two ports are

local from_pointer, clear = packet.from_pointer, note.clear
local NETWORK, DST_IP = note.NETWORK_HEADER, note.DST_IP
local put16 = frames.put16

-- What all of them do -------------------------------------------------------------

local flows = {MOST_RATE = 2 ^ 30}

local MOST_FLOWS = 2 ^ 24

--- The arguments of a source of many flows, before `more` of its own.
function flows.arguments(more)
  local all = {
    {"RATE", "unsigned", required = true, max = flows.MOST_RATE},
    {"LIMIT", "int", required = true},
    {"LENGTH", "unsigned", required = true},
    {"SRCETH", "eth", required = true}, {"SRCIP", "ip", required = true},
    {"DSTETH", "eth", required = true}, {"DSTIP", "ip", required = true},
    {"FLOWS", "unsigned", required = true, max = MOST_FLOWS},
    {"FLOWSIZE", "unsigned", required = true},
  }
  for _, argument in ipairs(more) do all[#all + 1] = argument end
  return all
end

local Flows = {}

--- Take what all have in their arguments. False if something is wrong.
function Flows:set_common(a)
  self.length = a.LENGTH
  if a.LENGTH < SHORTEST then
    self:warning("packet length < 60, defaulting to 60")
    self.length = SHORTEST
  elseif a.LENGTH > packet.max_payload then
    self:error("LENGTH: out of range, bound %d", packet.max_payload)
    return false
  end
  self.limit = a.LIMIT >= 0 and a.LIMIT or math.huge
  self.active, self.stop_at_end, self.count = a.ACTIVE, a.STOP, 0
  self.ended = a.LIMIT == 0
  self.source, self.destination, self.from, self.to = a.SRCETH, a.DSTETH, a.SRCIP,
    a.DSTIP
  if a.FLOWS == 0 then
    self:error("FLOWS must be at least 1")
    return false
  end
  self.flows, self.flow_size = a.FLOWS, math.max(a.FLOWSIZE, 1)
  self:set_rate(a.RATE)
  return true
end

local CATCH_UP_S = 1

--- So many packets a second, evenly; 0: as fast as they go.
function Flows:set_rate(rate)
  self.gap, self.begun = rate > 0 and 1 / rate or nil, false
  self.times = self.times or schedule.new(CATCH_UP_S)
end

local function random_port() return math.random(0, 65534) end

-- Ports and number of packets so far, of each flow.
local function make_flows(self)
  local n = self.flows
  self.source_port, self.destination_port = ffi.new("uint16_t[?]", n),
    ffi.new("uint16_t[?]", n)
  self.sent = ffi.new("uint32_t[?]", n)
  for i = 0, n - 1 do
    self.source_port[i], self.destination_port[i] = random_port(), random_port()
  end
end

--- Give the flow other ports.
function Flows:change_ports(flow)
  if self.sequential then
    self.source_port[flow] = (self.source_port[flow] + 1) % 65535
    self.destination_port[flow] = (self.destination_port[flow] + 1) % 65535
  else
    self.source_port[flow], self.destination_port[flow] = random_port(), random_port()
  end
end

--- A packet of the flow, from the bytes of `template`, whose sum (without ports) is
--- `sum` and whose checksum is at `at`; sum nil: without a checksum.
function Flows:stamp(template, flow, sum, at)
  local p = from_pointer(template, self.length)
  local data = p.data
  local source, destination = self.source_port[flow], self.destination_port[flow]
  put16(data, PORTS, source)
  put16(data, PORTS + 2, destination)
  if sum then
    local value = checksum.fold(sum + source + destination)
    put16(data, at, self.is_udp and checksum.udp(value) or value)
  end
  clear(p)
  p.note16[NETWORK] = p.data_off + frames.IP
  p.note32[DST_IP] = self.destination_note
  return p
end

-- Pushing and pulling -------------------------------------------------------------

-- May it send a packet now? If not yet, it is called again when it may.
local function may_send(self)
  if not self.gap then return true end
  local times = self.times
  if not self.begun then
    slots.restart(times, self.router, 1 / self.gap)
    self.begun = true
  end
  if schedule.begin(times, self.router:steady()) then
    schedule.advance(times, self.gap)
    return true
  end
  self.timer:at_steady(times.due)
  return false
end

-- The next packet; nil if there is none now.
local function next_packet(self)
  if not self.active or self.ended or not may_send(self) then return nil end
  local p = self:make_packet()
  if p then
    self.count = self.count + 1
    if self.count == 1 then self.first = self.router:steady() end
    if self.count >= self.limit then self.last = self.router:steady() end
  end
  if self:is_over(p) then
    self.ended = true
    if self.stop_at_end then self.router:stop() end
  end
  return p
end

--- Is this packet (nil: none) the last one?
function Flows:is_over() return self.count >= self.limit end

local function wake(self)
  if self:is_pushing() then self:schedule() else self.signal:set(true) end
end

function Flows:initialize()
  make_flows(self)
  self:make_templates()
  self.destination_note = bit.bswap(bit.tobit(self.to)) % 2 ^ 32
  self.timer = self.router:timer(function () wake(self) end)
  if self:is_pushing() then self:schedule() end
end

local function send(self, most)
  local emit = self.emit
  for i = 1, most do
    local p = next_packet(self)
    if not p then return i - 1 end
    emit(1, p)
  end
  return most
end

function Flows:task()
  if send(self, self.burst) > 0 then return true end
  self:unschedule()
  return false
end

function Flows:pull()
  local p = next_packet(self)
  if not p then self.signal:set(false) end
  return p
end

local function reset(self)
  self.count, self.first, self.last, self.ended = 0, nil, nil, false
  self.begun = false
  if self.active then wake(self) end
end

-- Packets a second from the first to the last one.
local function measured_rate(self)
  if not self.last then return 0 end
  return math.floor(self.count / math.max(self.last - self.first, 0.001))
end

local function address_handler(field)
  return {write = function (self, text)
    local value = require("click.arguments").types.eth(text, {}, self)
    if not value then return "Invalid argument" end
    self[field] = value
    self:make_templates()
  end}
end

local function whole(text, low, high)
  local n = tonumber(text)
  return n and n % 1 == 0 and n >= low and n <= high and n or nil
end

Flows.handlers = {
  count = element.data("count"),
  reset = element.command(reset),
  stop = element.data("stop_at_end", "bool"),
  rate = {read = measured_rate, write = function (self, text)
    local rate = whole(text, 0, flows.MOST_RATE)
    if not rate then return "rate parameter must be integer >= 0" end
    self:set_rate(rate)
    if self.active then wake(self) end
  end},
  active = {
    read = function (self) return self.active end,
    write = function (self, text)
      local on = require("click.arguments").types.bool(text)
      if on == nil then return "active parameter must be boolean" end
      self.active = on
      if on then reset(self) end
    end,
  },
  limit = {
    read = function (self) return self.limit == math.huge and -1 or self.limit end,
    write = function (self, text)
      local limit = whole(text, -2 ^ 31, 2 ^ 32)
      if not limit then return "limit parameter must be integer >= 0" end
      self.limit = limit >= 0 and limit or math.huge
      self.begun, self.ended = self.begun and not self.ended, false
      if self.active then wake(self) end
    end,
  },
  length = {
    read = function (self) return self.length end,
    write = function (self, text)
      local length = whole(text, 0, packet.max_payload)
      if not length then return "length parameter must be integer" end
      self.length = math.max(length, SHORTEST)
      self:make_templates()
    end,
  },
  srceth = address_handler("source"), dsteth = address_handler("destination"),
}

--- A class of such sources.
function flows.define(class)
  for name, member in pairs(Flows) do class[name] = class[name] or member end
  class.ports, class.emits, class.notifies = "0/1", true, "empty"
  return element.define(class)
end

return flows

-- SPDX-License-Identifier: Apache-2.0
-- Filters: which packets a queue gets. Rules that Perigee looks packets up in itself,
-- so that they work with any port.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local arguments = require("moongen.arguments")
local device = require("moongen.devices.device")
local failure = require("core.failure")
local five_tuple = require("moongen.tables.five_tuple")
local integer = require("moongen.integer")
local native = require("moongen.devices.native")

local Device, RxQueue = device.__devicePrototype, device.__rxQueuePrototype

-- A queue of this device, by object or number; -1: none.
local function number_of(dev, queue)
  if type(queue) == "table" and queue.qid then
    if queue.id ~= dev.id then
      failure.usage("a filter of device %d can't use a queue of device %d", dev.id,
        queue.id)
    end
    return queue.qid
  end
  local n = tonumber(queue)
  if not n or not (n >= -1 and n < dev.c.nrx and n % 1 == 0) then
    failure.usage("a filter's queue is from 0 to %d, or device.DROP, not '%s'",
      dev.c.nrx - 1, tostring(queue))
  end
  return n
end

local function add(dev, queue, rule)
  local r = ffi.new("struct pg_rule", rule)
  r.queue = number_of(dev, queue)
  if not native.add_rule(dev.c, r) then
    failure.usage("a device has at most %d filters", C.PG_RULES_MOST)
  end
end

--- Frames of that Ethernet type go to the queue (an object, a number, or device.DROP).
function Device:l2Filter(ethertype, queue)
  add(self, queue, {kind = C.PG_RULE_ETHERTYPE, what = tonumber(ethertype)})
end

local function address(text)
  if text == nil then return 0 end
  if type(text) == "number" then
    return integer("a filter's address", text, 0, 2 ^ 32 - 1)
  end
  if type(text) ~= "string" then
    failure.usage("a filter's addresses are of IPv4, not %s", arguments.shown(text))
  end
  local ip, is_ip4 = parseIPAddress(text)
  if not ip or not is_ip4 then
    failure.usage("a filter's addresses are of IPv4, not '%s'", tostring(text))
  end
  return ip
end

local function mask(given, value, all)
  if given ~= nil then return given end
  return value ~= nil and all or 0
end

local NUMBERS = {srcPort = 65535, dstPort = 65535, proto = 255, priority = 65535,
  srcPortMask = 65535, dstPortMask = 65535, protoMask = 255}

--- Packets go to the queue that have these srcIp, dstIp, srcPort, dstPort and proto,
--- each optional, as far as their masks (srcIpMask, ...) say; higher priority first.
function Device:fiveTupleFilter(filter, queue)
  local f = filter
  for name, most in pairs(NUMBERS) do
    if f[name] ~= nil then
      integer("fiveTupleFilter: " .. name, f[name], 0, most)
    end
  end
  add(self, queue, {kind = C.PG_RULE_FIVE_TUPLE, priority = f.priority or 1,
    src_ip = address(f.srcIp), dst_ip = address(f.dstIp),
    src_ip_mask = mask(f.srcIpMask and address(f.srcIpMask), f.srcIp, 0xffffffff),
    dst_ip_mask = mask(f.dstIpMask and address(f.dstIpMask), f.dstIp, 0xffffffff),
    src_port = f.srcPort or 0, dst_port = f.dstPort or 0,
    src_port_mask = mask(f.srcPortMask, f.srcPort, 0xffff),
    dst_port_mask = mask(f.dstPortMask, f.dstPort, 0xffff),
    proto = f.proto or 0, proto_mask = mask(f.protoMask, f.proto, 0xff)})
  return true
end
Device.addHW5tupleFilter = Device.fiveTupleFilter

local function is_first(queue)
  return (type(queue) == "table" and queue.qid or queue) == 0
end

local ETHERTYPE_PTP = require("net.wire.ether_type").PTP

-- Queue 0 gets what no filter takes: it needs none, but one for another queue, of a
-- measurement before, has to end.
local function is_taken(dev, kind, what)
  for i = 0, dev.c.soft.rules.n - 1 do
    local rule = dev.c.soft.rules.list[i]
    if rule.kind == kind and rule.what == what and rule.queue > 0 then return true end
  end
  return false
end

--- PTP over UDP goes to the queue: packets whose payload begins with the bytes of a
--- PTP message of that type (default 0, sync) and version (default 2).
function Device:filterUdpTimestamps(queue, ptp_type, version)
  local first = (ptp_type or 0) * 256 + (version or 2)
  if is_first(queue) and not is_taken(self, C.PG_RULE_PTP, first) then return end
  add(self, queue, {kind = C.PG_RULE_PTP, what = first})
end

--- PTP over Ethernet goes to the queue.
function Device:filterL2Timestamps(queue)
  if is_first(queue) and not is_taken(self, C.PG_RULE_ETHERTYPE, ETHERTYPE_PTP) then
    return
  end
  self:l2Filter(ETHERTYPE_PTP, queue)
end

function Device:filterTimestamps(queue) self:filterUdpTimestamps(queue) end

function RxQueue:filterUdpTimestamps() return self.dev:filterUdpTimestamps(self) end
function RxQueue:filterL2Timestamps() return self.dev:filterL2Timestamps(self) end

--- Its rules, for people to read.
function Device:dumpFilters()
  for i = 0, self.c.soft.rules.n - 1 do
    local r = self.c.soft.rules.list[i]
    print(("  filter %d: kind %d, %#x -> queue %d"):format(i, r.kind, r.what, r.queue))
  end
end

-- Filters in the language of one kind of card: they are not Perigee's. ----------------

for _, name in ipairs{"UdpGenericFilter", "TcpGenericFilter", "l2GenericFilter",
  "genericFilter", "fiveTupleGenericFilter", "filterGeneric"} do
  Device[name] = function (self) self:unsupported(name) end
end

arguments.methods(Device, "a device", "c", {
  l2Filter = "number, any?", fiveTupleFilter = "table, any?",
  addHW5tupleFilter = "table, any?", filterUdpTimestamps = "any?, number?, number?",
  filterL2Timestamps = "any?", filterTimestamps = "any?", dumpFilters = "",
})

return {DROP = device.DROP, create5TupleFilter = five_tuple.create5TupleFilter,
  mg_filter_5tuple = five_tuple.mg_filter_5tuple}

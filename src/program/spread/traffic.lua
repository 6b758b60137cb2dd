-- SPDX-License-Identifier: Apache-2.0
-- What comes, in periods of so many packets: how many each bucket of flows has of them,
-- by the hash that hands packets out (native/kernels/flows.c), and which flows.

local ffi = require("ffi")
local C = require("core.native")
local ip = require("core.declare")("net/ip/transport.h")
local packet = require("core.packet")
local reader = require("lib.pcap.reader")
local waiting = require("lib.waiting")

local traffic = {}

local SHOW = 2 ^ 14 -- packets in between
local BUCKETS = C.FLOW_BUCKETS
local PORTS = {[6] = true, [17] = true, [132] = true}

-- Periods of `every` packets: {load = {[BUCKET] = packets}, new = {[BUCKET] = flows
-- that are seen for the first time}}. add(bucket, flow) is to be called for each.
local function collect(every)
  local periods, counted = {}, {packets = 0, flows = 0, others = 0}
  local seen, now, n = {}, nil, 0
  local function begin()
    now, n = {load = {}, new = {}}, 0
    for bucket = 0, BUCKETS - 1 do now.load[bucket], now.new[bucket] = 0, 0 end
  end
  begin()
  return function (bucket, flow)
    now.load[bucket] = now.load[bucket] + 1
    if flow and not seen[flow] then
      seen[flow] = true
      now.new[bucket] = now.new[bucket] + 1
      counted.flows = counted.flows + 1
    elseif not flow then
      counted.others = counted.others + 1
    end
    counted.packets, n = counted.packets + 1, n + 1
    if n == every then
      periods[#periods + 1] = now
      begin()
    end
  end, periods, counted
end

local t = ffi.new("struct transport")

-- What tells a packet's flow from others, one way; nil: it is neither IPv4 nor IPv6.
local function flow_of(p)
  if not ip.pg_transport(t, p.data, p.length) then return nil end
  local is_ip4 = t.version == 4
  local key = ffi.string(p.data + t.ip + (is_ip4 and 12 or 8), is_ip4 and 8 or 32)
    .. string.char(t.protocol)
  if PORTS[t.protocol] and not t.fragment and t.l4 + 4 <= t["end"] then
    key = key .. ffi.string(p.data + t.l4, 4)
  end
  return key
end

--- The periods of a capture's first packets, up to `most`; and what was counted:
--- {packets =, flows =, others = packets that are neither IPv4 nor IPv6, periods =}.
--- Raises a failure if it can't be read.
function traffic.of_capture(path, every, most)
  local add, periods, counted = collect(every)
  local file = reader.open(path)
  local p, wait = packet.allocate(), waiting.start("reading " .. path)
  while counted.packets < most do
    local data, captured = file:next()
    if data == nil then break end
    if counted.packets % SHOW == 0 then wait:show(counted.packets, nil, "packets") end
    p.length = math.min(captured, packet.max_payload)
    ffi.copy(p.data, data, p.length)
    add(C.pg_bucket_of(C.pg_flow_hash(p)), flow_of(p))
  end
  wait:finish()
  packet.free(p)
  file:close()
  counted.periods = #periods
  return periods, counted
end

-- A function that chooses one of `n` with the frequencies 1 / number ^ s.
local function zipf(n, s)
  local sums, all = {}, 0
  for i = 1, n do
    all = all + i ^ -s
    sums[i] = all
  end
  return function ()
    local at, low, high = math.random() * all, 1, n
    while low < high do
      local middle = math.floor((low + high) / 2)
      if sums[middle] > at then high = middle else low = middle + 1 end
    end
    return low
  end
end

local function random32()
  return math.random(0, 65535) * 65536 + math.random(0, 65535)
end

--- The same of flows that are made, with the options of `perigee spread`: between
--- random addresses and ports, by Zipf's law; and an elephant, if one is asked for.
function traffic.made(o)
  math.randomseed(o.seed)
  local add, periods, counted = collect(o.every)
  local buckets, choose = {}, zipf(o.flows, o.zipf)
  for flow = 0, o.flows do -- 0 is the elephant
    buckets[flow] = C.pg_bucket_of(C.pg_tuple_hash(random32(), random32(), random32()))
  end
  local wait = waiting.start("making flows")
  for i = 1, o.packets do
    if i % SHOW == 0 then wait:show(i, o.packets, "packets") end
    local flow = math.random() < o.elephant and 0 or choose()
    add(buckets[flow], flow)
  end
  wait:finish()
  counted.periods = #periods
  return periods, counted
end

return traffic

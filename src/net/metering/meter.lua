-- SPDX-License-Identifier: Apache-2.0
-- A meter of flows: what was seen of each, for exporters when it ends (README.md).

local ffi = require("ffi")
local declare = require("core.declare")
local failure = require("core.failure")
local flow = require("net.flow.flow") -- its declarations come first
local C = declare("net/metering/metering.h")

local meter = {}

local NANOSECONDS, MILLISECONDS = 1e9, 1000
local AT_ONCE = 256          -- flows that one call of work() ends
local PAUSE_S = 0.001        -- between such calls
local LINGER_S = 2           -- behind a FIN or RST, for what is still under way
local MOST_S = 1e6

--- The functions of metering.h.
meter.native = C

--- The most flows, if nothing else is said.
meter.LIMIT = 2^18

--- Reasons by number (RFC 7012's flowEndReason), as words.
meter.REASONS = {
  [C.METER_IDLE] = "idle", [C.METER_ACTIVE] = "active",
  [C.METER_FINISHED] = "finished", [C.METER_FLUSHED] = "flushed",
  [C.METER_EVICTED] = "evicted",
}

local Meter = {}
Meter.__index = Meter

local function check_seconds(what, n)
  if type(n) == "number" and n >= 0.001 and n <= MOST_S then return end
  failure.usage("a meter's `%s` is a number of seconds from 0.001 to %d, not '%s'",
    what, MOST_S, tostring(n))
end

local RECORD = "struct { struct meter_key key; struct meter_counts value; "
  .. "struct flow_age age; }"

--- The bytes that a meter of so many flows takes, at most.
function meter.bytes(limit) return flow.bytes(ffi.typeof(RECORD), limit) end

--- A meter. `options`: limit, of flows (LIMIT); full: "evict" (default) the flow that
--- would go first, or "refuse" packets of new ones; idle, active: seconds without a
--- packet, and of one that goes on (15, 60); exporters: a list of what is told of flows
--- that have ended: put(records, n), records a struct meter_ended *; work(now), now and
--- then; finish(), and if there is one pace() before that, as many come at once.
function meter.new(options)
  local idle, active = options.idle or 15, options.active or 60
  local limit = options.limit or meter.LIMIT
  check_seconds("idle", idle)
  check_seconds("active", active)
  local t = flow.new{key = "struct meter_key", value = "struct meter_counts",
    limit = limit, full = options.full or "evict", reserve = limit,
    ages = {idle * MILLISECONDS, math.min(idle, LINGER_S) * MILLISECONDS}}
  local m = C.pg_meter_new(t.table, active * NANOSECONDS)
  if m == nil then failure.raise("there is no memory for a meter of flows") end
  return setmetatable({meter = ffi.gc(m, C.pg_meter_free), table = t, due = 0,
    all_over = true, exporters = options.exporters or {}}, Meter)
end

-- Tell the exporters of what has ended.
local function export(self)
  local m = self.meter
  local n = m.ended
  if n == 0 then return end
  for _, exporter in ipairs(self.exporters) do exporter:put(m.record, n) end
  m.ended = 0
end

--- Account the n packets that are in the link, of the input with that number (0 on).
function Meter:take(l, n, input)
  local taken = C.pg_meter_take(self.meter, l, 0, n, input)
  while taken < n do
    export(self)
    taken = C.pg_meter_take(self.meter, l, taken, n, input)
  end
end

--- End what is over, some at a time, at the time `now` (seconds, of any clock that goes
--- on). False: there is more.
function Meter:work(now)
  if now < self.due then return self.all_over end
  self.due = now + PAUSE_S
  self.all_over = C.pg_meter_expire(self.meter, AT_ONCE)
  export(self)
  for _, exporter in ipairs(self.exporters) do exporter:work(now) end
  return self.all_over
end

--- End all flows, and tell of them.
function Meter:finish()
  for _, exporter in ipairs(self.exporters) do
    if exporter.pace then exporter:pace() end
  end
  repeat
    local all = C.pg_meter_flush(self.meter)
    export(self)
  until all
  for _, exporter in ipairs(self.exporters) do exporter:finish() end
end

--- What it has counted: flows, packets, ..., and `ended`, records by reason.
function Meter:counts()
  local m, ended = self.meter, {}
  for number, word in pairs(meter.REASONS) do
    ended[word] = tonumber(m.ended_by[number])
  end
  return {
    flows = tonumber(m.flows), live = self.table:count(),
    limit = self.table.table.limit,
    packets = tonumber(m.packets), bytes = tonumber(m.octets),
    not_ip = tonumber(m.not_ip), refused = tonumber(m.refused),
    fragments = tonumber(m.fragments), cut = tonumber(m.cut), ended = ended,
  }
end

return meter

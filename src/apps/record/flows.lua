-- SPDX-License-Identifier: Apache-2.0
-- What a Recorder knows of flows: a meter, its exporters and counters.

local C = require("core.native")
local collector = require("apps.record.collector")
local counter = require("core.counter")
local failure = require("core.failure")
local line_file = require("apps.record.line_file")
local memory = require("apps.record.memory")
local meter = require("net.metering.meter")

local flows = {}

local KEYS = {file = true, ipfix = true, limit = true, full = true, idle = true,
  active = true}

-- Of a meter's counts, and as an app's counters.
local COUNTERS = {flows = "flows", live = "flows_live", packets = "flow_packets",
  refused = "flow_packets_refused", not_ip = "flow_packets_not_ip",
  fragments = "flow_packets_fragments", cut = "flow_packets_cut"}

local Flows = {}
Flows.__index = Flows

local function check(arg)
  for key in pairs(arg) do
    if not KEYS[key] then
      failure.usage("a Recorder's `flows` have no '%s'", tostring(key))
    end
  end
  memory.check(meter.bytes(arg.limit or meter.LIMIT), "a table of flows")
end

--- Meter flows as `arg` says: a table of file, ipfix (a collector's address), limit,
--- full, idle and active as net.metering.meter has them. `titles`: the inputs' names.
function flows.new(arg, titles)
  check(arg)
  local exporters = {}
  local file = arg.file and line_file.open(arg.file, titles)
  exporters[1] = file
  local ipfix = arg.ipfix and collector.new(arg.ipfix)
  exporters[#exporters + 1] = ipfix
  local self = {file = file, ipfix = ipfix}
  self.meter = meter.new{limit = arg.limit, full = arg.full, idle = arg.idle,
    active = arg.active, exporters = exporters}
  return setmetatable(self, Flows)
end

--- The n packets that are in the link, of the input with that number.
function Flows:take(l, n, input) self.meter:take(l, n, input) end

--- End what is over. False: there is more.
function Flows:work() return self.meter:work(C.pg_monotonic()) end

--- End all flows, tell of them, and close.
function Flows:finish()
  if self.finished then return end
  self.finished = true
  self.meter:finish()
end

--- What an app's `shm` says of its counters.
function flows.counters()
  local specs = {}
  for _, name in pairs(COUNTERS) do specs[name] = {counter} end
  for _, word in pairs(meter.REASONS) do specs["flows_" .. word] = {counter} end
  return specs
end

--- Set these.
function Flows:count(shm)
  local counts = self.meter:counts()
  for key, name in pairs(COUNTERS) do counter.set(shm[name], counts[key]) end
  for word, n in pairs(counts.ended) do counter.set(shm["flows_" .. word], n) end
end

--- What is known of flows so far, for a report.
function Flows:told()
  local counts = self.meter:counts()
  counts.file = self.file and self.file:told()
  counts.ipfix = self.ipfix and self.ipfix:told()
  return counts
end

return flows

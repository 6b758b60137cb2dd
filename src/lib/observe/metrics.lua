-- SPDX-License-Identifier: Apache-2.0
-- What instances count, as text in the format OpenMetrics 1.0: from their objects in
-- shared memory (lib.observe.objects). doc/metrics.md lists the names, which stay.

local engines = require("lib.observe.engines")
local ffi = require("ffi")
local shm = require("core.shm")
local tables = require("core.lib.tables")

local metrics = {}

--- The media types of the text, and of the older format.
metrics.TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
metrics.PLAIN_TYPE = "text/plain; version=0.0.4; charset=utf-8"

--- Does a request (net.http.messages) ask for the first of them?
function metrics.is_asked_for(request)
  local accepts = (request.headers.accept or ""):lower()
  return accepts:find("application/openmetrics-text", 1, true) ~= nil
end

-- Families in the order in which they are told: name, type, help.
local FAMILIES = {
  {"perigee", "info", "What runs."},
  {"perigee_uptime_seconds", "gauge", "Time since the process began."},
  {"perigee_cpu_seconds", "counter", "CPU time that the process has used."},
  {"perigee_packets", "counter", "Packets that were sent or freed."},
  {"perigee_bytes", "counter", "Bytes of these packets."},
  {"perigee_breaths", "counter", "Breaths of all engines."},
  {"perigee_sleeps", "counter", "Sleeps until something comes or is due."},
  {"perigee_wakeups", "counter", "Sleeps that ended as something came."},
  {"perigee_configurations", "counter", "Configurations applied."},
  {"perigee_last_good_configuration", "gauge",
    "1 while the newest configuration couldn't be started (--last-good)."},
  {"perigee_replication_master", "gauge", "1: this host is master for the name."},
  {"perigee_replication_connected", "gauge", "1: the other host takes or sends."},
  {"perigee_replication_records", "gauge", "Records (flows) that the backup has."},
  {"perigee_replication_changes_behind", "gauge",
    "Changes sent that the backup hasn't said it has."},
  {"perigee_replication_behind_seconds", "gauge", "Time from a change to the backup."},
  {"perigee_replication_last_seconds", "gauge",
    "Time since the backup had all of a sweep."},
  {"perigee_link_packets", "counter", "Packets put into the link."},
  {"perigee_link_bytes", "counter", "Bytes of these packets."},
  {"perigee_link_drops", "counter", "Packets dropped since the link was full."},
  {"perigee_link_waiting_packets", "gauge", "Packets in the link."},
  {"perigee_app_drops", "counter", "Packets that the app dropped for the reason."},
  {"perigee_app_events", "counter", "Other counters of apps, such as ports."},
  {"perigee_app_value", "gauge", "Other values of apps."},
  {"perigee_cycles", "counter", "TSC cycles, worked out from samples, by part."},
  {"perigee_tsc_hertz", "gauge", "TSC cycles a second."},
  {"perigee_jit_events", "counter", "What LuaJIT did."},
  {"perigee_pool_packets", "gauge", "Packets that the pool has made."},
  {"perigee_pool_available_packets", "gauge", "Packets in the pool that nobody has."},
  {"perigee_breath_seconds", "histogram", "How long breaths take."},
  {"perigee_app_histogram", "histogram", "Histograms of apps, in their unit."},
  {"perigee_queue_packets", "counter", "Packets of the device's queue."},
  {"perigee_queue_bytes", "counter", "Bytes of these packets, without frame check."},
  {"perigee_queue_drops", "counter", "Packets that the queue lost or refused."},
  {"perigee_device_missed_packets", "counter", "Packets that found no room."},
  {"perigee_task_cpu_seconds", "counter", "CPU time of the task's thread."},
}

-- Of the counters of ports and replicators, those that count nothing.
local STATES = {records = true, behind_us = true, is_master = true,
                dtime = true, speed = true, status = true, type = true, macaddr = true,
                mtu = true, promisc = true, interface_away = true}

-- Counters of the engine by family.
local ENGINE = {frees = "perigee_packets", freebytes = "perigee_bytes",
                breaths = "perigee_breaths", configs = "perigee_configurations"}
local EACH_ENGINE = {sleeps = "perigee_sleeps", wakeups = "perigee_wakeups"}
local QUEUED = {frees = true, freebytes = true} -- counted by queues, if there are any
local LINK = {txpackets = "perigee_link_packets", txbytes = "perigee_link_bytes",
              txdrop = "perigee_link_drops"}
local PARTS = {}
for _, part in ipairs(engines.PARTS) do PARTS[part] = true end
local BUCKETS_APART = 16 -- of core.histogram's: so many are told as one

-- In the older format types and names are these.
local PLAIN = {counter = {"_total", "counter"}, info = {"_info", "gauge"}}

-- Samples -----------------------------------------------------------------------------

local function escape(text)
  return (text:gsub("\\", "\\\\"):gsub("\n", "\\n"):gsub('"', '\\"'))
end

-- "{a="b"}" of a list {name, value, name, value, ...} behind those of the instance.
local function labels_text(base, ...)
  local list = {}
  for _, part in ipairs{base, {...}} do
    for i = 1, #part, 2 do
      list[#list + 1] = ('%s="%s"'):format(part[i], escape(tostring(part[i + 1])))
    end
  end
  return #list > 0 and "{" .. table.concat(list, ",") .. "}" or ""
end

local function number(value)
  value = tonumber(value)
  return value % 1 == 0 and math.abs(value) < 2 ^ 63 and ("%.0f"):format(value)
    or ("%.9g"):format(value)
end

local function add(out, family, suffix, value, ...)
  out[family] = out[family] or {}
  table.insert(out[family], ("%s%s%s %s\n"):format(family, suffix,
    labels_text(out.base, ...), number(value)))
end

local function add_histogram(out, family, h, ...)
  local count, sum, bucket = 0, 0, 0
  local labels = {...}
  local function le(bound)
    local all = {unpack(labels)}
    all[#all + 1], all[#all + 2] = "le", bound
    add(out, family, "_bucket", count, unpack(all))
  end
  for n, low, high in h:iterate() do
    count = count + tonumber(n)
    sum = sum + tonumber(n) * (high < math.huge and (low + high) / 2 or low)
    bucket = bucket + 1
    local told = bucket % BUCKETS_APART == 0 and high < math.huge
    if told then le(("%.9g"):format(high)) end
  end
  le("+Inf")
  add(out, family, "_count", count, ...)
  add(out, family, "_sum", sum, ...)
end

-- Objects -----------------------------------------------------------------------------

local function add_link(out, objects, spec, what, value)
  if LINK[what] then add(out, LINK[what], "_total", value, "link", spec) end
  if what ~= "rxpackets" then return end
  local sent = objects[("links/%s/txpackets"):format(shm.part(spec))]
  local waiting = math.max(0, tonumber((sent and sent.value or value) - value))
  add(out, "perigee_link_waiting_packets", "", waiting, "link", spec)
end

local function add_app(out, app, what, object)
  local reason = what:match("^drop_(.*)$")
  if object.kind == "histogram" then
    add_histogram(out, "perigee_app_histogram", object.value, "app", app, "name", what)
  elseif reason then
    add(out, "perigee_app_drops", "_total", object.value, "app", app, "reason", reason)
  elseif object.kind == "counter" and not STATES[what] then
    add(out, "perigee_app_events", "_total", object.value, "app", app, "name", what)
  elseif object.kind == "counter" or object.kind == "gauge" then
    add(out, "perigee_app_value", "", object.value, "app", app, "name", what)
  end
end

local function add_engine(out, cpu, what, object)
  local jit, part, task = what:match("^jit/(%a+)$"), what:match("^cycles/(%a+)$"),
    what:match("^cycles/tasks/(.*)$")
  if what == "latency" and object.kind == "histogram" then
    add_histogram(out, "perigee_breath_seconds", object.value, "cpu", cpu)
  elseif object.kind ~= "counter" then
    return
  elseif ENGINE[what] and cpu == "main" then
    if not (out.queues and QUEUED[what]) then
      add(out, ENGINE[what], "_total", object.value)
    end
  elseif EACH_ENGINE[what] then
    add(out, EACH_ENGINE[what], "_total", object.value, "cpu", cpu)
  elseif jit then
    add(out, "perigee_jit_events", "_total", object.value, "cpu", cpu, "event", jit)
  elseif part and PARTS[part] then
    add(out, "perigee_cycles", "_total", object.value, "cpu", cpu, "part", part)
  elseif task then
    add(out, "perigee_cycles", "_total", object.value, "cpu", cpu, "part", "apps",
      "task", shm.name_of_part(task))
  elseif what == "cycles/tsc_hz" and cpu == "main" then
    add(out, "perigee_tsc_hertz", "", object.value)
  end
end

-- What a libmoon script has instead of an engine (lib.observe.tasks).
local QUEUE = {packets = "perigee_queue_packets", bytes = "perigee_queue_bytes",
               dropped = "perigee_queue_drops"}

local function add_device(out, owner, what, value)
  local id, way, queue = owner:match("^(%d+)/([rt]x)/(%d+)$")
  if id and QUEUE[what] then
    add(out, QUEUE[what], "_total", value, "device", id, "queue", queue, "way", way)
  elseif what == "missed" then
    add(out, "perigee_device_missed_packets", "_total", value, "device", owner)
  end
end

-- Packets and bytes that all queues have sent, or received if that is more; nil if
-- there are none.
local function of_queues(objects)
  local sums = {rx = {packets = 0, bytes = 0}, tx = {packets = 0, bytes = 0}}
  local any = false
  for name, object in pairs(objects) do
    local way, what = name:match("^devices/%d+/([rt]x)/%d+/(%a+)$")
    local sum = sums[way]
    if sum and sum[what] then
      sum[what], any = sum[what] + tonumber(object.value), true
    end
  end
  if any then return sums.rx.packets > sums.tx.packets and sums.rx or sums.tx end
end

local function add_object(out, objects, name, object)
  local cpu, rest = name:match("^workers/(%d+)/(.*)$")
  local kind, owner, what = name:match("^(%a+)/(.*)/([^/]+)$")
  local engine = (rest or name):match("^engine/(.*)$")
  if engine then return add_engine(out, cpu or "main", engine, object) end
  if kind == "links" and object.kind == "counter" then
    add_link(out, objects, shm.name_of_part(owner), what, object.value)
  elseif kind == "apps" then
    add_app(out, shm.name_of_part(owner), what, object)
  elseif name == "service/last_good" then
    add(out, "perigee_last_good_configuration", "", object.value)
  elseif kind == "devices" and object.kind == "counter" then
    add_device(out, owner, what, object.value)
  elseif kind == "tasks" and what == "cpu_ns" then
    add(out, "perigee_task_cpu_seconds", "_total", tonumber(object.value) / 1e9, "task",
      shm.name_of_part(owner))
  end
end

-- How far replication of what is kept under the name is (lib.replica.shown).
local function add_replication(out, name, r)
  local function one(what, value)
    if value then add(out, "perigee_replication_" .. what, "", value, "keep", name) end
  end
  one("master", r.role == "master" and 1 or 0)
  one("connected", r.connected and 1 or 0)
  one("records", r.records)
  one("changes_behind", r.changes)
  one("behind_seconds", r.behind)
  one("last_seconds", r.since)
end

local function add_instance(out, instance)
  out.base = instance.labels or {}
  local info = {"program", instance.program, "name", instance.name or "", "pid",
                instance.pid}
  add(out, "perigee", "_info", 1, unpack(info))
  if instance.cpu then
    add(out, "perigee_cpu_seconds", "_total", instance.cpu)
    add(out, "perigee_uptime_seconds", "", instance.uptime)
  end
  if instance.pool then
    add(out, "perigee_pool_packets", "", instance.pool.size)
    add(out, "perigee_pool_available_packets", "", instance.pool.available)
  end
  if instance.replication then
    add_replication(out, instance.keeps, instance.replication)
  end
  out.queues = of_queues(instance.objects)
  if out.queues then
    add(out, "perigee_packets", "_total", out.queues.packets)
    add(out, "perigee_bytes", "_total", out.queues.bytes)
  end
  local names = tables.sorted_keys(instance.objects)
  for _, name in ipairs(names) do
    add_object(out, instance.objects, name, instance.objects[name])
  end
end

--- The text for a list of instances, {program =, name =, pid =, cpu =, uptime =
--- (seconds), objects = lib.observe.objects.all of it, labels = {name, value, ...} that
--- tell it from others, pool = {size =, available =}, keeps =, replication = what
--- lib.replica.shown.of gives}; what isn't known is nil. With
--- `plain` it is in Prometheus's older text format.
function metrics.text(list, plain)
  local out, lines = {}, {}
  for _, instance in ipairs(list) do add_instance(out, instance) end
  for _, family in ipairs(FAMILIES) do
    local name, kind, help = unpack(family)
    if out[name] then
      local title = name
      if plain and PLAIN[kind] then
        title, kind = name .. PLAIN[kind][1], PLAIN[kind][2]
      end
      lines[#lines + 1] = ("# HELP %s %s\n# TYPE %s %s\n"):format(title, help, title,
        kind)
      for _, sample in ipairs(out[name]) do lines[#lines + 1] = sample end
    end
  end
  return table.concat(lines) .. (plain and "" or "# EOF\n")
end

-- Numbers of C (uint64_t) are told as decimals.
assert(number(ffi.new("uint64_t", 7)) == "7")

return metrics

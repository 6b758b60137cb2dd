-- SPDX-License-Identifier: Apache-2.0
-- libmoon's module `stats`: makes counters, in all forms in which scripts ask for
-- them, and runs the task that counts devices.

local arguments = require("moongen.arguments")
local counters = require("moongen.measure.counters")
local statistics = require("moongen.measure.statistics")
local log = require("moongen.log")
local libmoon = require("moongen.tasks.libmoon")
local numbers = require("moongen.tasks.numbers")
local tables = require("core.lib.tables")

counters.observer = function (counter, interval)
  if numbers.last("web servers") > 0 then
    require("moongen.tasks.webserver").publish(counter, interval)
  end
end

local stats = tables.copy(statistics)

--- How many counters there are, in all tasks.
function stats.numCounters() return numbers.last("counters") end

-- "name, device, format, file" with the name left out or nil, and queues for devices.
local function device_counter(direction, name, device, format, file)
  if type(name) == "table" then
    name, device, format, file = nil, name, device, format
  end
  device = type(device) == "table" and device.dev or device
  if type(device) ~= "table" or not device.getRxStats then
    log:fatal("Bad device: a counter needs a device or a queue, not %s",
      arguments.shown(device))
  end
  return counters.of_device(numbers.next("counters"), direction, name, device, format,
    file)
end

local function made_by(make)
  return function (direction, name, format, file)
    return make(numbers.next("counters"), direction, name, format, file)
  end
end

for kind, make in pairs{Dev = device_counter, Pkt = made_by(counters.of_packets),
                        Manual = made_by(counters.manual)} do
  for _, direction in ipairs{"Rx", "Tx"} do
    -- Called with a colon; some scripts write a dot.
    stats["new" .. kind .. direction .. "Counter"] = function (self, ...)
      if self == stats then return make(direction:upper(), ...) end
      return make(direction:upper(), self, ...)
    end
  end
end

-- Names of 2015.
function stats.newRxCounter(_, ...) return device_counter("RX", nil, ...) end

--- Of a device or a queue; or of what is counted by hand: a name, the packets' size,
--- format and file.
function stats.newTxCounter(_, device, size, format, file)
  if type(device) == "table" then
    return device_counter("TX", nil, device, size, format)
  end
  return stats:newManualTxCounter(device, format, file)
end

-- The task

local COUNT_EVERY_MS = 10
-- Longer than the tasks that send, so that totals have all of it.
local STAY_MS = 200

local LISTS = {"devices", "rxDevices", "txDevices"}

local function check(args)
  if type(args) ~= "table" then
    log:fatal("startStatsTask takes a table of devices, not %s", arguments.shown(args))
  end
  for _, name in ipairs(LISTS) do
    local list = args[name] or {}
    if type(list) ~= "table" or list.id then
      log:fatal("startStatsTask: %s is a list of devices, not %s", name,
        arguments.shown(list))
    end
    for _, entry in ipairs(list) do
      local device = type(entry) == "table" and (entry.dev or entry)
      if type(device) ~= "table" or not device.id then
        log:fatal("startStatsTask: %s has %s, which is no device", name,
          arguments.shown(entry))
      end
    end
  end
end

--- Start the task that counts devices: `args.devices` (both directions), `rxDevices`,
--- `txDevices`, lists of devices or of {dev, format, file}; `format` and `file` for the
--- others. Devices right in `args` are as if they were in `devices`.
function stats.startStatsTask(args, more)
  if args == stats then args = more end
  check(args)
  args.devices = args.devices or {}
  if #args.devices + #(args.rxDevices or {}) + #(args.txDevices or {}) == 0 then
    for i, device in ipairs(args) do args.devices[i] = device end
  end
  return libmoon.startSharedTask("__LIBMOON_STATS_TASK", args)
end

-- A counter for each device of the lists, once.
local function add_counters(list, direction, args, ...)
  local seen = {}
  for i = 1, select("#", ...) do
    for _, entry in ipairs((select(i, ...)) or {}) do
      local plain = entry.id ~= nil
      local device = plain and entry or entry.dev
      local settings = plain and args or entry
      if not seen[device.id] then
        seen[device.id] = true
        list[#list + 1] = device_counter(direction, nil, device, settings.format,
          settings.file)
      end
    end
  end
end

--- The task itself: counts until the script ends.
function stats.task(args)
  local list = {}
  add_counters(list, "RX", args, args.rxDevices, args.devices)
  add_counters(list, "TX", args, args.txDevices, args.devices)
  while libmoon.running(STAY_MS) do
    for _, counter in ipairs(list) do counter:update() end
    libmoon.sleepMillisIdle(COUNT_EVERY_MS)
  end
  for _, counter in ipairs(list) do counter:finalize(0) end
end

return stats

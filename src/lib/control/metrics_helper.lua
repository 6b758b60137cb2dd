-- SPDX-License-Identifier: Apache-2.0
-- What runs in the process that serves another's metrics (lib.control.metrics): it
-- reads what that one has in shared memory, and never asks it anything.

local C = require("core.native")
local failure = require("core.failure")
local listen = require("lib.control.listen")
local objects = require("lib.observe.objects")
local process = require("lib.observe.process")
local scrapes = require("lib.control.scrapes")
local shm = require("core.shm")
local shown = require("lib.replica.shown")
local sysfs = require("lib.hardware.sysfs")

local helper = {}

local SILENT_SECONDS = 5 -- without a breath, before an engine counts as stuck

local function count(directory, name)
  local value = objects.read(("%s/service/%s.counter"):format(directory, name))
  return value and tonumber(value)
end

-- Why the process whose directory it is isn't well: a sentence; or nil. One without an
-- engine, such as a libmoon script's, is well as long as it is there.
local function ill(directory, now)
  local last = count(directory, "breathed_ns")
  local silent = last and last > 0 and now - last / 1e9 -- (0: it is being made)
  if silent and silent > SILENT_SECONDS then
    return ("the engine hasn't breathed for %.0f seconds"):format(silent)
  end
end

-- Why no packets are to be sent there: a sentence; or nil.
local function not_ready(directory, now)
  local why = ill(directory, now)
  if why then return why end
  local readiness = sysfs.line(directory .. "/service/readiness")
  if readiness then return readiness ~= "ready" and readiness or nil end
  if #sysfs.entries(directory .. "/devices") == 0 then return "no app runs" end
end

local function answer(why)
  if why then return 503, why .. "\n" end
  return 200, "ok\n"
end

-- The name that the process has claimed (core.app.claim_name), or nil.
local function name_of(directory)
  return sysfs.line(directory .. "/service/name")
end

-- What lib.observe.metrics takes, of the process.
local function collect(directory, pid)
  local cpu, uptime = process.times(pid)
  local all = objects.all(directory, coroutine.yield)
  local keeps, replication = shown.of(directory)
  local size, available = all["service/pool_packets"], all["service/pool_available"]
  return {{program = process.program(pid, directory), pid = pid, cpu = cpu,
    uptime = uptime, name = name_of(directory), objects = all,
    keeps = keeps, replication = replication,
    pool = size and available and {size = size.value, available = available.value}}}
end

--- Serve the metrics of the process `parent`, whose directory in shared memory is
--- `directory`, on the socket that it has given. `place`: what the user called that.
function helper.run(directory, parent, place)
  if not parent or not place then
    failure.usage("--serve-for needs --parent and --at")
  end
  shm.cleanup() -- it is no instance of its own
  if not C.pg_helper_begin(parent) then return end
  local function pages(f)
    return function () return answer(f(directory, C.pg_monotonic())) end
  end
  scrapes.serve(C.PG_HELPER_FD, {
    collect = function () return collect(directory, parent) end,
    pages = {["/healthz"] = pages(ill), ["/readyz"] = pages(not_ready)},
    others = "/healthz and /readyz",
    refuse = listen.foreign(listen.parse("--metrics", place)),
    stop = function () return false end})
end

return helper

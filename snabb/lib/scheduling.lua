-- SPDX-License-Identifier: Apache-2.0
-- How a process runs: on which CPU, with which options of the JIT and of the engine. As
-- a table for apply(), or, by stage(), as Lua code for a worker that is to run so.

local ffi = require("ffi")
local engine = require("core.app")
local failure = require("core.failure")
local lib = require("core.lib")
local numa = require("lib.numa")
local packet = require("core.packet")
local timeline = require("core.timeline")
local timer = require("core.timer")
local tables = require("core.lib.tables")

local scheduling = {}

local options = {
  jit_opt = {default = {sizemcode = 256, maxmcode = 2048}}, -- of jit.opt.start
  cpu = {},                    -- number of the CPU
  real_time = {},              -- run before all that isn't
  max_packets = {},            -- limit of the packet pool
  group_freelist_size = {},    -- accepted
  ingress_drop_monitor = {},   -- "flush" or "warn"
  profile = {default = true},  -- accepted
  busywait = {default = true}, -- engine.busywait
  Hz = {},                     -- engine.Hz
  timeline = {},               -- log events
  enable_xdp = {},             -- accepted
  eval = {},                   -- Lua code
}

ffi.cdef[[
int perigee_sched_setscheduler(int pid, int policy, const int *priority)
  __asm__("sched_setscheduler");
]]
local SCHED_FIFO = 1 -- linux/sched.h

local apply = {}

-- No less than what Perigee has set for all programs (core.main).
local LEAST = {sizemcode = 512, maxmcode = 65536}

function apply.jit_opt(opt)
  for name, value in pairs(opt) do
    jit.opt.start(("%s=%s"):format(name, math.max(value, LEAST[name] or value)))
  end
end

function apply.cpu(cpu)
  print(("Binding data-plane PID %d to CPU %s."):format(ffi.C.getpid(), cpu))
  numa.bind_to_cpu(cpu)
end

function apply.real_time(wanted)
  if not wanted then return end
  if ffi.C.perigee_sched_setscheduler(0, SCHED_FIFO, ffi.new("int[1]", 1)) ~= 0 then
    failure.raise("can't run in real time; only root can")
  end
end

function apply.max_packets(n) packet.initialize(n) end

function apply.group_freelist_size(n) packet.enable_group_freelist(n) end

function apply.ingress_drop_monitor(action)
  local monitor = require("lib.timers.ingress_drop_monitor")
  timer.activate(monitor.new{action = action}:timer())
end

function apply.profile() end

function apply.busywait(wanted) engine.busywait = wanted end

function apply.Hz(n) engine.Hz = n end

function apply.timeline(wanted) timeline.enabled = wanted end

function apply.enable_xdp() end -- packets are fit for AF_XDP anyway (apps.xdp.xdp)

function apply.eval(code)
  local chunk, err = loadstring(code)
  if not chunk then failure.usage("scheduling can't eval: %s", err) end
  chunk()
end

--- Let this process run as the table says; what it leaves out is as `options` has it.
function scheduling.apply(opts)
  opts = lib.parse(opts, options)
  for _, name in ipairs(tables.sorted_keys(opts)) do apply[name](opts[name]) end
end

local function literal(value)
  if type(value) == "string" then return ("%q"):format(value) end
  if type(value) ~= "table" then return tostring(value) end
  local parts = {}
  for key, v in pairs(value) do
    parts[#parts + 1] = ("[%s]=%s"):format(literal(key), literal(v))
  end
  table.sort(parts)
  return "{" .. table.concat(parts, ",") .. "}"
end

--- Lua code that applies the table.
function scheduling.stage(opts)
  return ("require('lib.scheduling').apply(%s)"):format(
    literal(lib.parse(opts, options)))
end

return scheduling

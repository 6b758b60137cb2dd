-- SPDX-License-Identifier: Apache-2.0
-- Time stamps that cost a few cycles: the CPU's time stamp counter, which runs evenly
-- on CPUs that say so (constant_tsc, nonstop_tsc), or the system's clock.

local C = require("core.native")
local ffi = require("ffi")
local lib = require("core.lib")

local tsc = {}

--- The source of stamps when new() isn't given one: "rdtsc" or "system".
tsc.default_source = "rdtsc"

--- The CPU's time stamp counter, a uint64_t.
tsc.rdtsc = C.pg_tsc

local function is_even()
  if ffi.arch == "arm64" then return true end -- CNTVCT_EL0 does by the architecture
  local info = lib.readfile("/proc/cpuinfo", "*a") or ""
  return info:find("constant_tsc") and info:find("nonstop_tsc") and true or false
end

local sources = {
  rdtsc = {stamp = C.pg_tsc, per_second = function () return C.pg_tsc_hz() end},
  system = {
    stamp = C.pg_monotonic_ns,
    per_second = function () return 1000000000ULL end,
  },
}

local Clock = {}

--- A clock. `source` is "rdtsc" or "system"; where the counter doesn't run evenly
--- it is the system's in any case, which is said on stdout.
function tsc.new(arg)
  local name = lib.parse(arg, {source = {default = tsc.default_source}}).source
  if name == "rdtsc" and not is_even() then
    print("tsc: this CPU's counter doesn't run evenly; using the system's clock")
    name = "system"
  end
  local source = sources[name]
  if not source then
    error(("there is no time source '%s'; there are rdtsc and system"):format(name), 2)
  end
  local tps = source.per_second()
  return setmetatable({_source = name, _time_fn = source.stamp, _tps = tps,
    _ns_per_tick = 1e9 / tonumber(tps)}, {__index = Clock})
end

--- The clock's source, "rdtsc" or "system".
function Clock:source() return self._source end

--- The function that gives a stamp, for hot loops.
function Clock:time_fn() return self._time_fn end

--- A stamp: ticks, a uint64_t.
function Clock:stamp() return self._time_fn() end

--- Ticks per second, a uint64_t.
function Clock:tps() return self._tps end

--- Nanoseconds, a uint64_t, that so many ticks take.
function Clock:to_ns(ticks)
  if self._source == "system" then return ticks end
  return tonumber(ticks) * self._ns_per_tick + 0ULL
end

return tsc

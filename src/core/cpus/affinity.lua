-- SPDX-License-Identifier: Apache-2.0
-- The CPUs that workers may run on: those of the process's own affinity (taskset, a
-- container's cpuset), read when the first worker starts.

local eal = require("core.eal")
local failure = require("core.failure")
local log = require("core.lib.log")

local affinity = {}

local MOST = 1023
local allowed, told = nil, {}

--- The CPUs of a text such as "0-3,8", a list in its order, up to number 1023.
function affinity.parse(text)
  local cpus = {}
  for range in text:gmatch("[^,]+") do
    local first, last = range:match("^%s*(%d+)%-?(%d*)%s*$")
    for cpu = tonumber(first), math.min(tonumber(last) or tonumber(first), MOST) do
      cpus[#cpus + 1] = cpu
    end
  end
  return cpus
end

--- The same, of what a user wrote: a usage failure if it isn't such a text. `option` is
--- what it was given to (--cpus).
function affinity.list(text, option)
  option = option or "--cpus"
  for range in (text .. ","):gmatch("(.-),") do
    if not range:match("^%s*%d+%s*$") and not range:match("^%s*%d+%-%d+%s*$") then
      failure.usage("%s %s: give CPUs such as 1-4 or 0,2", option, text)
    end
    local first, last = range:match("(%d+)%s*%-%s*(%d+)")
    if first and tonumber(first) > tonumber(last) then
      failure.usage("%s %s: %s-%s has no CPU; the lower one comes first", option,
        text, first, last)
    end
  end
  local cpus, seen = {}, {}
  for _, cpu in ipairs(affinity.parse(text)) do
    if not seen[cpu] then cpus[#cpus + 1] = cpu end
    seen[cpu] = true
  end
  if #cpus == 0 then
    failure.usage("%s %s has no CPU; they are numbered from 0 to %d", option, text,
      MOST)
  end
  return cpus
end

--- The CPUs this process may use, a sorted list.
function affinity.cpus()
  allowed = allowed or affinity.parse(eal.cpus())
  return allowed
end

local function warn_once(key, fmt, ...)
  if told[key] then return end
  told[key] = true
  log.warning(fmt, ...)
end

--- The CPU that the worker of CPU number `cpu` is to run on: that, or, with a warning,
--- one that others run on too, if this process may not use it.
function affinity.cpu_for(cpu)
  local cpus = affinity.cpus()
  for _, other in ipairs(cpus) do
    if other == cpu then return cpu end
  end
  local shared = cpus[cpu % #cpus + 1]
  warn_once(cpu, "this process may not use CPU %d, only %s: its worker shares CPU %d",
    cpu, eal.cpus(), shared)
  return shared
end

return affinity

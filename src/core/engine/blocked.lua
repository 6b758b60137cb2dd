-- SPDX-License-Identifier: Apache-2.0
-- What a change of configuration costs the traffic: no packet moves while it is
-- carried out, but for breaths in its midst. Counts the time, and what ports with a
-- queue that overflows missed meanwhile; lost packets / offered rate is the time a
-- change blocked.

local C = require("core.native")

local blocked = {}

--- Changes of a graph that had links; seconds in all, and of the longest without a
--- breath; packets ports missed meanwhile.
blocked.changes, blocked.seconds, blocked.longest, blocked.missed = 0, 0, 0, 0

--- What the ports among these apps have missed up to now.
function blocked.missed_by(apps)
  local sum = 0
  for _, app in pairs(apps) do
    if app.port and app.statistics then sum = sum + app:statistics().imissed end
  end
  return sum
end

local began -- to stand still
local within = false -- measure()
local cutting = false

local function stood_still()
  local seconds = C.pg_monotonic() - began
  local sums = cutting and blocked.cut or blocked
  sums.seconds = sums.seconds + seconds
  sums.longest = math.max(sums.longest, seconds)
  began = nil
end

--- Call breathe() in the midst of a change: meanwhile packets move.
function blocked.but_for(breathe)
  local still = began ~= nil
  if still then stood_still() end
  breathe()
  if still then began = C.pg_monotonic() end
end

--- Call f(...), while which engines of other CPUs stand still. What it returns.
function blocked.elsewhere(f, ...)
  if began or not within then return f(...) end
  began = C.pg_monotonic()
  local ok, err = pcall(f, ...)
  stood_still()
  if not ok then error(err, 0) end
  return err
end

--- Engines of other CPUs have changed by themselves, and stood still so long for it.
function blocked.others_stood(seconds)
  if not within then return end
  local sums = cutting and blocked.cut or blocked
  sums.seconds = sums.seconds + seconds
  sums.longest = math.max(sums.longest, seconds)
end

--- Call change() and count what it costs the running `apps`: where `running` is true
--- they stand still; if it is "elsewhere", only while blocked.elsewhere() is called.
--- Ports of other CPUs have missed missed() packets up to now (optional). Raises what
--- change() raises.
function blocked.measure(apps, running, change, missed)
  if not running then return change() end
  missed = missed or function () return 0 end
  local before = blocked.missed_by(apps) + missed()
  within = true
  began = running == true and C.pg_monotonic() or nil
  local ok, err = pcall(change)
  if began then stood_still() end
  within = false
  local sums = cutting and blocked.cut or blocked
  sums.changes = sums.changes + 1
  sums.missed = sums.missed + math.max(0, blocked.missed_by(apps) + missed() - before)
  if not ok then error(err, 0) end
end

--- Call f(...), by which a running graph is divided over CPUs: that isn't counted among
--- the changes, but in blocked.cut, with the same fields. What it returns.
function blocked.first_cut(f, ...)
  blocked.cut = {changes = 0, seconds = 0, longest = 0, missed = 0}
  cutting = true
  local ok, err = pcall(f, ...)
  cutting = false
  if not ok then error(err, 0) end
  return err
end

return blocked

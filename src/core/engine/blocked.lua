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

local function stood_still()
  local seconds = C.pg_monotonic() - began
  blocked.seconds = blocked.seconds + seconds
  blocked.longest = math.max(blocked.longest, seconds)
end

--- Call breathe() in the midst of a change: meanwhile packets move.
function blocked.but_for(breathe)
  if began then stood_still() end
  breathe()
  if began then began = C.pg_monotonic() end
end

--- Call change() and count what it costs the running `apps`, if `running`, and those
--- whose ports have missed elsewhere() packets up to now (optional); raises what
--- change() raises.
function blocked.measure(apps, running, change, elsewhere)
  if not running then return change() end
  elsewhere = elsewhere or function () return 0 end
  local missed = blocked.missed_by(apps) + elsewhere()
  began = C.pg_monotonic()
  local ok, err = pcall(change)
  stood_still()
  began = nil
  blocked.changes = blocked.changes + 1
  blocked.missed = blocked.missed + math.max(0,
    blocked.missed_by(apps) + elsewhere() - missed)
  if not ok then error(err, 0) end
end

return blocked

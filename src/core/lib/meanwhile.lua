-- SPDX-License-Identifier: Apache-2.0
-- Lets packets pass while something else is worked out in the same thread: what may
-- take long (reading a table of 100,000 routes, planning a graph of 1,000 apps) calls
-- step() again and again.

local C = require("core.native")

local meanwhile = {}

local PERIOD = 0.0002 -- seconds between calls
local MANY = 16       -- steps between looks at the clock

local serve      -- what is to be called, if anything
local next_time, steps = 0, 0

local function finish(before, ok, ...)
  serve = before
  if not ok then error((...), 0) end
  return ...
end

--- Call f(...), and go_on() about every 0.2 ms of that, in the steps that f reports.
--- Within another such call, f(...) alone. Returns what f returns.
function meanwhile.call(go_on, f, ...)
  if serve ~= nil then return f(...) end
  serve, next_time, steps = go_on, 0, 0
  return finish(nil, pcall(f, ...))
end

--- Call f(...), and nothing meanwhile. Returns what f returns.
function meanwhile.alone(f, ...)
  local before = serve
  serve = before and false
  return finish(before, pcall(f, ...))
end

local function look()
  steps = 0
  if C.pg_now() < next_time then return end
  local go_on = serve
  serve = false -- nothing goes on within itself
  local ok, err = pcall(go_on)
  serve = go_on
  if not ok then error(err, 0) end
  next_time = C.pg_now() + PERIOD
end

--- Is there anything to go on with?
function meanwhile.serving() return serve and true or false end

--- Some work is done, less than 10 microseconds of it: is it time to go on with others?
function meanwhile.step()
  if not serve then return end
  steps = steps + 1
  if steps >= MANY then look() end
end

--- The same after more work.
function meanwhile.pause()
  if serve then look() end
end

return meanwhile

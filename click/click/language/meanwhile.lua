-- SPDX-License-Identifier: Apache-2.0
-- Lets the running router pass packets while another one is being read and built, in
-- the same thread: what may take long (a table of 100,000 routes) calls step() again
-- and again.

local C = require("core.native")

local meanwhile = {}

local PERIOD = 0.0002 -- seconds between calls
local MANY = 16       -- steps between looks at the clock

local serve      -- what is to be called, if anything
local next_time, steps = 0, 0

local function finish(ok, ...)
  serve = nil
  if not ok then error((...), 0) end
  return ...
end

--- Call f(...), and go_on() about every 0.2 ms of that, in the steps that f reports.
--- Within another such call, f(...) alone. Returns what f returns.
function meanwhile.call(go_on, f, ...)
  if serve ~= nil then return f(...) end
  serve, next_time, steps = go_on, 0, 0
  return finish(pcall(f, ...))
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

-- SPDX-License-Identifier: Apache-2.0
-- The course of a run of connect: connections are opened, or served, then those that
-- are open are waited for, and at last aborted.

local C = require("core.native")
local engine = require("core.app")
local failure = require("core.failure")
local generate = require("program.generate.course")
local patience = require("core.lib.patience")
local progress = require("lib.progress")

local M = {}

local DRAIN_S = 10
local ABORT_S = 2 -- for resets to go out
local LIVE_S = 1
local LOOK_S = 0.02 -- between looks whether it is over

local function ended(counts)
  return tonumber(counts.started - counts.open)
end

-- Is it over, by what has been opened, or served?
local function ending(sides, options)
  local first, count = sides[1], options.count or math.huge
  if first.name == "client" then
    return function () return first.app:done() end
  end
  local counts = first.app.state.counts
  return function () return ended(counts) >= count end
end

-- A function that says whether to stop: by the above, or as the time is over; then
-- those that are open may go on for a while.
local function until_over(sides, options)
  local is_over = ending(sides, options)
  local ends = options.duration and C.pg_now() + options.duration or math.huge
  local drained, client = nil, sides[1].name == "client"
  return function ()
    if is_over() then return true end
    local now = C.pg_now()
    if drained then
      return drained:over() or sides[1].app.state.counts.open == 0, now + LOOK_S
    end
    if now < ends then return false, ends end
    drained = patience.new(options.drain or DRAIN_S)
    sides[1].app:hold()
    return not client
  end
end

local function sample(sides)
  local counts = sides[1].app.state.counts
  return function ()
    return {
      packets = tonumber(counts.packets_sent + counts.packets_received),
      note = ("%.0f connections started, %.0f open"):format(tonumber(counts.started),
        tonumber(counts.open)),
    }
  end
end

-- The server closes what the client closed; each tells its peer of what is open.
local function finish(sides)
  for _, side in ipairs(sides) do side.app:hold() end
  local limit = patience.new(ABORT_S)
  local server = sides[2] and sides[2].app.state.counts
  while server and server.open > 0 and sides[1].app.state.counts.open == 0
    and not limit:over() do
    engine.breathe()
  end
  limit:renew(2 * ABORT_S)
  for _, side in ipairs(sides) do
    while not side.app:abort() and not limit:over() do engine.breathe() end
  end
  engine.breathe()
end

-- Find the neighbours that are sent to.
local function get_ready(sides)
  local app, problem = sides[1].app, nil
  engine.main{no_report = true, done = function ()
    local ready
    ready, problem = app:is_ready()
    return ready or problem ~= nil
  end}
  if problem then failure.raise("%s", problem) end
end

--- Run until it is over. True, or false and the error that ended it; and the seconds in
--- which connections were opened or served.
function M.run(sides, options, stream)
  generate.wait_for_links{to = engine.app_table[sides[1].name .. "_port"],
    from = sides[2] and engine.app_table[sides[2].name .. "_port"]}
  get_ready(sides)
  local line = progress.start{label = "connect", duration = options.duration,
    sample = sample(sides), stream = stream, interval_s = LIVE_S}
  for _, side in ipairs(sides) do side.app:go() end
  local began, ok, err = C.pg_now(), true, nil
  if not engine.interrupted then
    ok, err = pcall(engine.main, {done = until_over(sides, options), no_report = true})
  end
  local seconds = C.pg_now() - began
  if ok then ok, err = pcall(finish, sides) end
  line:finish("quiet")
  return ok, err, seconds
end

return M

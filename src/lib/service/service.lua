-- SPDX-License-Identifier: Apache-2.0
-- A process that a service manager runs reports its state: that it is ready once
-- packets flow, that it is alive as long as its engine breathes and its workers do,
-- that it reads its configuration again, and that it stops.

local engine = require("core.app")
local notify = require("lib.service.notify")
local outside = require("core.outside.visitors")
local state = require("lib.service.state")
local C = require("core.native")

local service = {}

local NS_PER_US = 1000

local visitor = {}
local ready, period, next_sign = false, nil, 0

-- "RELOADING=1" wants to know since when.
local function monotonic_us() return math.floor(C.pg_monotonic() * 1e9 / NS_PER_US) end

local function count(t)
  local n = 0
  for _ in pairs(t) do n = n + 1 end
  return n
end

local function status()
  local why = state.not_ready()
  if why then return why end
  return ("%d apps and %d links"):format(count(engine.configuration.apps),
    count(engine.configuration.links))
end

local function tell_ready()
  notify.tell("READY=1\nSTATUS=" .. status())
end

local function tell_alive(now)
  if period and now >= next_sign and not state.ill() then
    next_sign = now + period
    notify.tell("WATCHDOG=1")
  end
end

local stands_by -- for whom

--- The process waits for its turn: it is as ready as it can be.
function visitor.standing_by(whom)
  if whom ~= stands_by then notify.tell("READY=1\nSTATUS=stands by for " .. whom) end
  stands_by = whom
  tell_alive(C.pg_now())
end

--- Between breaths.
function visitor.tend(now)
  if not ready and not state.not_ready() then
    ready = true
    tell_ready()
  end
  tell_alive(now)
end

--- A program is asked to read its configuration again; or has done so.
function visitor.reload(done)
  if not done then
    notify.tell(("RELOADING=1\nMONOTONIC_USEC=%d"):format(monotonic_us()))
  else
    tell_ready()
  end
end

-- What wasn't ready doesn't stop. So `perigee upgrade`, which reloads a service, says
-- nothing as it ends: the manager would take that for the service's own end.
local function tell_stopping(text)
  if ready or stands_by then notify.tell(text) end
end

--- The engine lets packets run out.
function visitor.stopping() tell_stopping("STOPPING=1\nSTATUS=packets run out") end

--- The process ends.
function visitor.leave() tell_stopping("STOPPING=1") end

for _, f in pairs(visitor) do jit.off(f, true) end

--- Tell the manager, if there is one.
function service.start()
  if not notify.wanted() then return end
  period = notify.period()
  outside.let_in(visitor)
end

return service

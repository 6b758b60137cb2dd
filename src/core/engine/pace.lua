-- SPDX-License-Identifier: Apache-2.0
-- How long to sleep between breaths: not at all with `busywait`, to keep a
-- fixed rate with `Hz`, else a little longer after each breath that moved no
-- packet, up to `maxsleep`, and half as long after each that did.

local C = require("core.native")
local account = require("core.engine.account")

local pace = {}

local CONTROL_SECONDS = 200e-6

local only_controls = false

--- Whether this engine has no apps, since workers have them all: then it needn't
--- breathe often, and their CPUs are better left to them.
function pace.only_control(yes) only_controls = yes end

local last_progress, due = 0ULL, nil

--- When the breath after the one that began at `began` is due, `Hz` a second: counted
--- from when that one was due, so that lateness doesn't add up; from `began` if it was
--- late by a whole period or more.
function pace.next_breath(began, Hz)
  local period = 1 / Hz
  if not due or due > began or began - due >= period then due = began end
  due = due + period
  return due
end

--- Sleep as `engine` (core.app) asks for after the breath that began at
--- `began` (seconds); true if there was any sleep.
function pace.breath(engine, began)
  if only_controls then
    C.pg_sleep(CONTROL_SECONDS)
    return true
  end
  if engine.busywait then return end
  if engine.Hz then
    local wait = pace.next_breath(began, engine.Hz) - C.pg_monotonic()
    if wait > 0 then C.pg_sleep(wait) end
    return wait > 0
  end
  local progress = account.progress()
  local idle = progress == last_progress
  last_progress = progress
  if idle then
    engine.sleep = math.min(engine.sleep + 1, engine.maxsleep)
    C.pg_sleep(engine.sleep * 1e-6)
  else
    engine.sleep = math.floor(engine.sleep / 2)
  end
  return idle
end

return pace

-- SPDX-License-Identifier: Apache-2.0
-- How long to sleep between breaths: not at all with `busywait`, to keep a
-- fixed rate with `Hz`, else a little longer after each breath that moved no
-- packet, up to `maxsleep`, and half as long after each that did.

local C = require("core.native")
local account = require("core.engine.account")

local pace = {}

local last_progress = 0ULL

--- Sleep as `engine` (core.app) asks for after a breath.
function pace.breath(engine)
  if engine.busywait then return end
  if engine.Hz then
    local due = engine.now() + 1 / engine.Hz
    local wait = due - C.pg_monotonic()
    if wait > 0 then C.pg_sleep(wait) end
    return
  end
  local progress = account.progress()
  if progress == last_progress then
    engine.sleep = math.min(engine.sleep + 1, engine.maxsleep)
    C.pg_sleep(engine.sleep * 1e-6)
  else
    engine.sleep = math.floor(engine.sleep / 2)
  end
  last_progress = progress
end

return pace

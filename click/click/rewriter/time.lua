-- SPDX-License-Identifier: Apache-2.0
-- The time of a router for what needn't know it to the microsecond: where the clock is
-- a real one, that of the breath, which is read once for all its packets.

local engine = require("core.app")

local time = {}

--- Seconds on the router's steady clock.
function time.now(router)
  local clock = router.clock
  if clock.simulated then return clock.passed end
  return engine.now()
end

return time

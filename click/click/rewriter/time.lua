-- SPDX-License-Identifier: Apache-2.0
-- The time of a router for what needn't know it to the microsecond: where the clock is
-- a real one, that of the breath, which is read once for all its packets.

local engine = require("core.app")

local time = {}

--- A function that returns seconds on the router's steady clock. Packets call it: it
--- looks nothing up in tables that get fields while the router runs, after which
--- LuaJIT's compiled code would be left by every packet.
function time.of(router)
  local clock = router.clock
  if clock.simulated then return function () return clock.passed end end
  return engine.now
end

--- These seconds now.
function time.now(router) return time.of(router)() end

return time

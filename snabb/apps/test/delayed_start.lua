-- SPDX-License-Identifier: Apache-2.0
-- Delayed_start: keeps packets in its input for so many seconds, then passes them on: a
-- card at the other end of a cable has time to come up.

local engine = require("core.app")
local link = require("core.link")

local Delayed_start = {argument = "seconds"}
Delayed_start.__index = Delayed_start

--- `delay` is in seconds, from now on.
function Delayed_start:new(delay)
  local now = engine.now()
  return setmetatable({began = now, start = now + delay}, self)
end

--- Another delay counts from when the app was started first.
function Delayed_start.reconfig_keeps(fresh, running)
  fresh.start = running.began + fresh.start - fresh.began
  return {"began"}
end

local function pass(input, output, n)
  for _ = 1, n do link.transmit(output, link.receive(input)) end
end

function Delayed_start:push()
  if engine.now() < self.start then return end
  local input = self.input.input
  pass(input, self.output.output, link.nreadable(input))
end

return {Delayed_start = Delayed_start}

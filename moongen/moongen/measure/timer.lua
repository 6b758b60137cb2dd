-- SPDX-License-Identifier: Apache-2.0
-- libmoon's timer: so many seconds from when it was made or reset.

local arguments = require("moongen.arguments")
local clock = require("moongen.clock")
local libmoon = require("moongen.tasks.libmoon")

-- A wait that is longer is slept through but for this much, in seconds.
local MARGIN_S = 100e-6
local LONGEST_SLEEP_S = 0.01 -- so that the end of the script is noticed

local Timer = {}
Timer.__index = Timer

local M = {}

--- A timer of `time` seconds (0 if nil). Some scripts write a dot for the colon.
function M.new(self, time)
  if self ~= M then time = self end
  time = tonumber(time) or 0
  return setmetatable({time = time, stop = clock.seconds() + time}, Timer)
end

--- Is there time left?
function Timer:running() return self.stop > clock.seconds() end

--- Is there none?
function Timer:expired() return self.stop <= clock.seconds() end

--- Seconds that are left; less than 0 after its end.
function Timer:timeLeft() return self.stop - clock.seconds() end

--- Begin again, with `time` seconds or as many as before.
function Timer:reset(time)
  self.stop = clock.seconds() + (tonumber(time) or self.time)
end

--- Wait until it ends, or the script does. Returns whether the script goes on. Long
--- waits leave the CPU to others.
function Timer:wait()
  local left = self:timeLeft()
  while left > 0 and libmoon.running() do
    if left > 2 * MARGIN_S then
      clock.sleep(math.min(left - MARGIN_S, LONGEST_SLEEP_S))
    end
    left = self:timeLeft()
  end
  return libmoon.running()
end
Timer.busyWait = Timer.wait

arguments.methods(Timer, "a timer", "stop", {running = "", expired = "", timeLeft = "",
  reset = "number?", wait = "", busyWait = ""})

return M

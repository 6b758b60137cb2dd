-- SPDX-License-Identifier: Apache-2.0
-- Cycles: takes a known number of TSC cycles for each packet, and passes it on. It
-- adds up: a chain of additions of one core cycle each (native/kernels/load.c). How
-- many it takes is measured when the app starts; as the core's clock drifts against
-- the TSC, that is measured again ten times a second.

local C = require("core.native")
local failure = require("core.failure")

local Cycles = {C = C} -- what it measures with; specs have another
Cycles.__index = Cycles
Cycles.reconfig_keeps = {}

Cycles.link_names = {input = {input = true}, output = {output = true}}

local MOST_CYCLES = 1e7
local TRACK_SECONDS = 0.1
local PROBE = 256 -- additions

local function cycles_of(arg)
  local n = type(arg) == "table" and arg.cycles or arg
  if type(n) ~= "number" or n < 0 or n > MOST_CYCLES then
    failure.usage("apps.load.cycles takes the cycles for each packet, a number from 0 "
      .. "to %d, not '%s'", MOST_CYCLES, tostring(n))
  end
  return n
end

--- Check the argument: the number, or {cycles = NUMBER}.
function Cycles.check_arg(arg) cycles_of(arg) end

--- `arg`: TSC cycles for each packet, or {cycles = NUMBER}.
function Cycles:new(arg)
  local app = setmetatable({cycles = cycles_of(arg), additions = 0, next_track = 0},
    self)
  app:calibrate()
  return app
end

--- Measure, in core cycles, what a call takes besides its additions, and find how many
--- additions to make. At least one is made, unless `cycles` is 0.
function Cycles:calibrate()
  local measured = self.C.pg_spin_cycles(PROBE) * self.C.pg_core_per_tsc()
  self.overhead = measured - PROBE
  self:track()
end

--- Follow the core's clock.
function Cycles:track()
  if self.cycles == 0 then return end
  local core_cycles = self.cycles * self.C.pg_core_per_tsc()
  self.additions = math.max(1, math.floor(core_cycles - self.overhead + 0.5))
end

--- TSC cycles that a packet takes, measured now; a few with an argument of 0, too.
function Cycles:takes() return self.C.pg_spin_cycles(self.additions) end

--- The relative error of what a packet takes, measured now: 0.01 is one percent.
function Cycles:error()
  if self.cycles == 0 then return 0 end
  return self:takes() / self.cycles - 1
end

-- Without a branch: one that is compiled while there is nothing to do would send every
-- packet the long way round once there is.
function Cycles:process(p)
  C.pg_spin(self.additions)
  return p
end

--- It can do without tick() for so long while no packet comes, in seconds.
Cycles.tick_seconds = TRACK_SECONDS

function Cycles:tick()
  local now = C.pg_monotonic()
  if now < self.next_track then return end
  self.next_track = now + TRACK_SECONDS
  self:track()
end

function Cycles:report()
  print(("  %g TSC cycles a packet, in %d additions: an error of %.2f%%"):format(
    self.cycles, self.additions, 100 * self:error()))
end

return {Cycles = Cycles}

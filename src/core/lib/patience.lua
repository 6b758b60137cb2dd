-- SPDX-License-Identifier: Apache-2.0
-- How long another thread or process is waited for: limits that end something. Only
-- time counts in which it could have gone on: not what it waited for a CPU that others
-- had, nor what this thread stood still itself (it was stopped, or had no CPU to look).

local C = require("core.native")
local clock = require("core.lib.clock")

local patience = {}

--- Looks are to be more frequent than this, in seconds, unless a limit says otherwise:
--- no more of a pause between two of them counts.
patience.MOST_OF_A_LOOK = 0.1

local Patience = {}
Patience.__index = Patience

--- Wait for the thread or process `tid` (nil: nobody whose time can be seen) for so
--- many seconds of its own time. `look`: the most between two looks, MOST_OF_A_LOOK by
--- default. `now` and `delay_of` are for tests.
function patience.new(seconds, tid, now, delay_of, look)
  local self = setmetatable({tid = tid, now = now or clock.seconds,
    delay_of = delay_of or C.pg_run_delay_of, look = look or patience.MOST_OF_A_LOOK},
    Patience)
  self:renew(seconds)
  return self
end

--- Wait for so many seconds from now on.
function Patience:renew(seconds)
  self.left, self.passed, self.counted = seconds, 0, 0
  self.seen, self.delay = self.now(), self:delay_now()
end

function Patience:delay_now() return self.tid and self.delay_of(self.tid) or 0 end

-- The kernel adds up a wait for a CPU once it is over. What was counted meanwhile,
-- since the wait before, is given back in that proportion.
local function give_back(self)
  local delay = self:delay_now()
  if delay <= self.delay then return end
  local share = math.min(1, (delay - self.delay) / self.passed)
  self.left = self.left + share * self.counted
  self.delay, self.passed, self.counted = delay, 0, 0
end

--- Is it over? To be asked again and again while one waits.
function Patience:over()
  local now = self.now()
  local passed = now - self.seen
  local counted = math.min(passed, self.look)
  self.seen, self.left = now, self.left - counted
  self.passed, self.counted = self.passed + passed, self.counted + counted
  give_back(self)
  return self.left <= 0
end

return patience

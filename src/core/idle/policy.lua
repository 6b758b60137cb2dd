-- SPDX-License-Identifier: Apache-2.0
-- When it pays to sleep. A sleep until a packet comes costs some microseconds of CPU
-- time, and as much latency, so it is for gaps between packets that are longer. In
-- shorter ones the engine naps: it looks again so soon that nobody minds, and finds
-- several packets then. It keeps no clock of its own.

local policy = {}

--- How long a nap is, in seconds.
policy.NAP_SECONDS = 15e-6

local PAYS, LONG = 2, 6      -- gaps, as multiples of what a sleep costs
local WEIGHT = 1 / 4         -- of the last gap in what is expected
local LONGEST_GAP = 1e-3     -- seconds: after longer ones it is as idle as it gets
local LEAST_COST, MOST_COST = 2e-6, 30e-6

local Policy = {}
Policy.__index = Policy

--- One for a thread.
function policy.new()
  return setmetatable({expected = LONGEST_GAP, since = false}, Policy)
end

--- Packets moved at the time `now`, so many since there were none.
function Policy:busy(now, packets)
  local gap = math.min(now - self.since, LONGEST_GAP) / math.max(packets, 1)
  self.expected = self.expected + (gap - self.expected) * WEIGHT
  self.since = false
end

--- Nothing moved in a breath that ended at `now`: is it time to sleep until something
--- does ("wait"), or only to nap? `cost`: of a sleep, in seconds of CPU time.
function Policy:idle(now, cost)
  if not self.since then self.since = now end
  cost = math.min(math.max(cost, LEAST_COST), MOST_COST)
  if self.expected >= PAYS * cost or now - self.since >= LONG * cost then
    return "wait"
  end
  return "nap"
end

return policy

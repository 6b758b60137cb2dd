-- SPDX-License-Identifier: Apache-2.0
-- Unqueue2 pulls no more than there is room for in the queues that packets come to.

local element = require("click.element")
local nearby_queues = require("click.scheduling.nearby_queues")

local LATER = 0.001 -- s: when a queue that doesn't tell is looked at again

local Unqueue2 = element.define{
  name = "Unqueue2", summary = "pulls packets that queues behind it have room for",
  processing = "l/h", division = "any", emits = true,
  arguments = {
    {"BURST", "int", default = 1},
    {"QUEUES", "argument", keyword = true},
    {"QUIET", "bool", default = false, keyword = true},
  },
  notes = "It pulls up to BURST packets at once (0: until none comes), and no more "
    .. "than the fullest of the QUEUES has room for; by default, those that its "
    .. "packets come to first. Unless QUIET, it says that Unqueue should be used.",
  differs = "While a queue is full it sleeps.",
  handlers = {
    packets = {read = function (self) return ("%d packets\n"):format(self.count) end},
  },
}

function Unqueue2:configure(a)
  self.burst = a.BURST == 0 and math.huge or a.BURST
  self.wanted, self.count = a.QUEUES, 0
  if not a.QUIET then
    self:warning("Unqueue2 is deprecated, you should probably use Unqueue")
  end
end

function Unqueue2:initialize()
  self.queues = nearby_queues.any(self, self.wanted, true)
  if not self.queues then return end
  for _, queue in ipairs(self.queues) do
    local signal = rawget(queue, "full_signal")
    if signal then signal:listen(function () self:schedule() end) end
  end
  self.timer = self.router:timer(function () self:schedule() end)
  self.gate = self.router:gate(self, 1)
  self:schedule()
end

-- How many packets all queues have room for, and the fullest of them.
local function room(self)
  local least, fullest = math.huge, nil
  for _, queue in ipairs(self.queues) do
    local free = queue.capacity - (queue.tail - queue.head)
    if free < least then least, fullest = free, queue end
  end
  return least, fullest
end

local function move(self, n)
  local pull, emit, moved = self.pull_from[1], self.emit, 0
  while moved < n do
    local p = pull()
    if not p then
      if not self.gate.active then self:unschedule() end
      return moved
    end
    moved, self.count = moved + 1, self.count + 1
    emit(1, p)
  end
  return moved
end

function Unqueue2:task()
  local free, fullest = room(self)
  if free <= 0 then
    self:unschedule()
    local signal = rawget(fullest, "full_signal")
    if not signal or signal.active then self.timer:after(LATER) end
    return false
  end
  return move(self, math.min(self.burst, free, self.router.most_at_once)) > 0
end

return {Unqueue2}

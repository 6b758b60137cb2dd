-- SPDX-License-Identifier: Apache-2.0
-- RoundRobinUnqueue: from pull to push, input by input. It sleeps while no input has
-- packets.

local element = require("click.element")

local RoundRobinUnqueue = element.define{
  name = "RoundRobinUnqueue", summary = "pulls from its inputs in turns, and pushes",
  ports = "-/-", processing = "l/h", flow = "#/#", emits = true,
  arguments = {{"BURST", "int", default = 1}},
  handlers = {
    packets = {read = function (self) return ("%.0f packets\n"):format(self.count) end},
  },
}

function RoundRobinUnqueue:configure(a)
  self.burst = a.BURST == 0 and math.huge or math.max(a.BURST, 1)
  self.turn, self.idle, self.count = 1, 0, 0
end

function RoundRobinUnqueue:initialize()
  if self.noutputs ~= self.ninputs then
    return self:error("number of outputs must equal to number of inputs")
  end
  self.gates = {}
  for i = 1, self.ninputs do self.gates[i] = self.router:gate(self, i) end
  if self.ninputs > 0 then self:schedule() end
end

-- Move packets of input `i`, as many as a turn has; how many.
local function move(self, i)
  local pull, emit, n = self.pull_from[i], self.emit, 0
  local most = math.min(self.burst, self.router.most_at_once)
  while n < most do
    local p = pull()
    if not p then break end
    n = n + 1
    emit(i, p)
  end
  self.count = self.count + n
  return n
end

local function any_active(self)
  for i = 1, self.ninputs do
    if self.gates[i].active then return true end
  end
  return false
end

function RoundRobinUnqueue:task()
  local i = self.turn
  self.turn = i % self.ninputs + 1
  if move(self, i) > 0 then
    self.idle = 0
    return true
  end
  self.idle = self.idle + 1
  if not any_active(self) then self:unschedule() end
  return self.idle < self.ninputs
end

return {RoundRobinUnqueue}

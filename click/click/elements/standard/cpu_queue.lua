-- SPDX-License-Identifier: Apache-2.0
-- CPUQueue: in Click a queue for each CPU, here one, from which all outputs pull.

local element = require("click.element")
local SimpleQueue = require("click.elements.standard.queues")[1]

local CAPACITY = 128

local CPUQueue = element.define{
  name = "CPUQueue", summary = "stores packets in a queue", extends = SimpleQueue,
  ports = "1/1-", processing = "h/l", drops = {"queue full"},
  arguments = {{"CAPACITY", "unsigned", default = CAPACITY}},
}

function CPUQueue:process(p)
  if self.tail - self.head < self.capacity then
    return SimpleQueue.process(self, p)
  end
  self.overflows = self.overflows + 1
  return nil, 1
end

return {CPUQueue}

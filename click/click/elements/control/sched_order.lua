-- SPDX-License-Identifier: Apache-2.0
-- SchedOrderTest notes in which order tasks get their turns, to see what tickets do.

local element = require("click.element")

local DEFAULT_SIZE = 1024

local SchedOrderTest = element.define{
  name = "SchedOrderTest", summary = "remembers scheduling order", ports = "0/0",
  arguments = {
    {"ID", "int", required = true},
    {"SIZE", "unsigned", default = 0, max = 2 ^ 24, keyword = true},
    {"STOP", "bool", default = false, keyword = true},
    {"LIMIT", "unsigned", default = 0, keyword = true},
  },
  handlers = {order = {read = function (e)
    return table.concat(e.order.ids, " ") .. "\n"
  end}},
}

function SchedOrderTest:configure(a)
  local order = self.router.scheduling_order or {ids = {}, size = 0}
  self.router.scheduling_order = order
  order.size = math.max(order.size, a.SIZE)
  self.order, self.id, self.stop, self.limit, self.count =
    order, a.ID, a.STOP, a.LIMIT, 0
end

function SchedOrderTest:initialize()
  if self.order.size == 0 then self.order.size = DEFAULT_SIZE end
  self:schedule()
end

function SchedOrderTest:task()
  local ids = self.order.ids
  if #ids < self.order.size then
    ids[#ids + 1] = self.id
  elseif self.stop then
    self.router:stop()
  end
  self.count = self.count + 1
  if self.limit > 0 and self.count >= self.limit then self:unschedule() end
  return true
end

return {SchedOrderTest}

-- SPDX-License-Identifier: Apache-2.0
-- ARPTable: a table of Ethernet addresses (net.neighbor.cache) that ARPQueriers may
-- share. The handlers that both have are in click.net.arp_handlers.

local arp_handlers = require("click.net.arp_handlers")
local element = require("click.element")

local ARPTable = element.define{
  name = "ARPTable", division = "any",
  live = true, ports = "0/0",
  summary = "stores IP-to-Ethernet mappings",
  arguments = arp_handlers.arguments, has_arp_table = true,
}

function ARPTable:configure(a)
  if a.CAPACITY_SLIM_FACTOR == 0 then
    return self:error("CAPACITY_SLIM_FACTOR cannot be zero")
  end
  arp_handlers.configure(self, a)
end

function ARPTable:initialize() arp_handlers.age(self) end

function ARPTable:cleanup() self.arp_table:clear() end

function ARPTable:take_state(old)
  if old.arp_table then arp_handlers.swap(self, old) end
end

ARPTable.kept_state = arp_handlers.kept_state

ARPTable.handlers = arp_handlers.of_table()
ARPTable.handlers.drops = {read = function (e)
  return ("%d"):format(e.arp_table.drops)
end}

return {ARPTable}

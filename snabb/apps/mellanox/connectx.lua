-- SPDX-License-Identifier: Apache-2.0
-- Snabb's apps for Mellanox ConnectX cards: ConnectX is the card's set-up, which DPDK
-- does here, and IO is the Port app, by PCI address.

local alias = require("apps.port.port").alias
local failure = require("core.failure")
local notice = require("lib.port.notice")

local M = {}

--- The set-up of a card: it checks its argument and has no links.
local ConnectX = {
  config = {
    pciaddress = {required = true},
    sendq_size = {default = 1024},
    recvq_size = {default = 1024},
    mtu = {default = 9500},
    fc_rx_enable = {default = false},
    fc_tx_enable = {default = false},
    queues = {required = true},
    macvlan = {default = false},
    sync_stats_interval = {default = 1},
  },
}
ConnectX.__index = ConnectX
M.ConnectX = ConnectX

--- A usage error unless conf.queues is an array of one queue: a port has one.
function ConnectX.check_arg(conf)
  if type(conf.queues) ~= "table" or #conf.queues ~= 1 then
    failure.usage("ConnectX on %s: `queues` must be an array of one queue, not %s: a"
      .. " port has one queue each way", conf.pciaddress,
      type(conf.queues) == "table" and "of " .. #conf.queues or type(conf.queues))
  end
end

--- Nothing is opened: the IO app does that.
function ConnectX:new(conf)
  self.check_arg(conf)
  notice.without_effect("ConnectX", conf.pciaddress, conf.queues[1], {"vlan", "mac"})
  return setmetatable({}, self)
end

--- The packets of the card's queue.
M.IO = alias {
  name = "IO",
  config = {
    pciaddress = {required = true},
    queue = {required = true},
    packetblaster = {default = false},
  },
  port = function(conf)
    notice.without_effect("IO", conf.pciaddress, conf, {"packetblaster"})
    return conf.pciaddress
  end,
}

--- The class under the name by which programs choose among driver modules.
M.driver = ConnectX

return M

-- SPDX-License-Identifier: Apache-2.0
-- Intel82599 under its module name of Snabb before 2016: the Port app, by PCI address.
-- Programs of that time name its links rx and tx.

local alias = require("apps.port.port").alias
local intel_mp = require("apps.intel_mp.intel_mp")
local refuse = require("lib.refuse")
local sharing = require("apps.intel_mp.sharing")

local M = {}

M.Intel82599 = alias {
  name = "Intel82599",
  config = {
    pciaddr = {required = true},
    mtu = {},
    macaddr = {},
    vlan = {},
    vmdq = {},
    mirror = {},
    rxcounter = {default = 0},
    txcounter = {default = 0},
    rate_limit = {default = 0},
    priority = {default = 1},
    ring_buffer_size = {default = 2048},
  },
  port = function (conf)
    refuse("Intel82599", conf.pciaddr, conf,
      {priority = "limit what each app sends by rate_limit, and leave it at 1"},
      {priority = 1})
    return conf.pciaddr
  end,
}

local Intel82599 = M.Intel82599
Intel82599.shares, Intel82599.expand_together = sharing.card, sharing.expand
local new = Intel82599.new

--- Open the card at conf.pciaddr.
function Intel82599:new(conf, checked)
  local o = new(self, conf, checked)
  o.conf = conf
  o.dev = o  -- programs call nic.dev:get_rxstats()
  return o
end

--- What was received and sent, as in apps.intel_mp.intel_mp.
Intel82599.get_rxstats = intel_mp.Intel.get_rxstats
Intel82599.get_txstats = intel_mp.Intel.get_txstats

--- The class under the name by which programs choose among driver modules.
M.driver = Intel82599

return M

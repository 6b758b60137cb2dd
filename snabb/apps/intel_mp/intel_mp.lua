-- SPDX-License-Identifier: Apache-2.0
-- Snabb's Intel driver apps (82599, i210, i350): the Port app, by PCI address. Several
-- on one card share it (apps.intel_mp.sharing).

local alias = require("apps.port.port").alias
local notice = require("lib.port.notice")
local sharing = require("apps.intel_mp.sharing")

local M = {}

local Intel = alias {
  name = "Intel",
  config = {
    pciaddr = {required = true},
    ring_buffer_size = {default = 2048},
    ndesc = {},
    vmdq = {default = false},
    vmdq_queuing_mode = {default = "rss-64-2"},
    macaddr = {},
    poolnum = {},
    vlan = {},
    mirror = {},
    rxcounter = {},
    txcounter = {},
    rate_limit = {default = 0},
    priority = {default = 1},
    txq = {default = 0},
    rxq = {default = 0},
    rsskey = {},
    mtu = {default = 9014},
    linkup_wait = {default = 120},
    linkup_wait_recheck = {default = 0.1},
    wait_for_link = {default = false},
    master_stats = {default = true},
    run_stats = {default = false},
    mac_loopback = {default = false},
  },
  port = function(conf)
    notice.without_effect("Intel", conf.pciaddr, conf, {"mac_loopback"})
    return conf.pciaddr
  end,
}
Intel.shares, Intel.expand_together = sharing.card, sharing.expand
M.Intel = Intel

local new = Intel.new

--- Open the card at conf.pciaddr, which is this app's alone. With `rxq = false` nothing
--- is received from it, with `txq = false` nothing is sent to it.
function Intel:new(conf, checked)
  local o = new(self, conf, checked)
  o.conf = conf
  if conf.rxq == false then o.pull = false end
  if conf.txq == false then o.push = false end
  return o
end

--- What was received: `counter_id`, `packets`, `dropped`, `bytes`.
function Intel:get_rxstats()
  local s = self:statistics()
  return {counter_id = self.conf.rxcounter or 0, packets = s.ipackets,
    dropped = s.imissed + s.rx_nombuf, bytes = s.ibytes}
end

--- What was sent: `counter_id`, `packets`, `bytes`.
function Intel:get_txstats()
  local s = self:statistics()
  return {counter_id = self.conf.txcounter or 0, packets = s.opackets,
    bytes = s.obytes}
end

--- The same class under the names of Snabb's chips.
M.Intel82599, M.Intel1g = Intel, Intel

--- The class under the name by which programs choose among driver modules.
M.driver = Intel

return M

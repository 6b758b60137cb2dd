-- SPDX-License-Identifier: Apache-2.0
-- Snabb's Intel driver apps (82599, i210, i350): the Port app, by PCI address. Several
-- on one card share it (apps.intel_mp.sharing).

local alias = require("apps.port.port").alias
local C = require("core.native")
local ffi = require("ffi")
local refuse = require("lib.refuse")
local sharing = require("apps.intel_mp.sharing")

local M = {}

local REFUSED = {
  mac_loopback = "use the port 'ring:NAME', whose packets come back",
  priority = "limit what each app sends by rate_limit, and leave it at 1",
}

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
    refuse("Intel", conf.pciaddr, conf, REFUSED, {priority = 1})
    return conf.pciaddr
  end,
}
Intel.shares, Intel.expand_together = sharing.card, sharing.expand
M.Intel = Intel

local new = Intel.new

-- Wait until the cable carries, or for so long; also where nobody can tell.
local function wait_for_link(port, conf)
  local link = ffi.new("struct port_link")
  local recheck = conf.linkup_wait_recheck or 0.1
  for _ = 1, math.max(math.floor((conf.linkup_wait or 120) / recheck), 1) do
    if C.pg_port_link(port, link) < 0 or link.up ~= 0 then return end
    C.pg_sleep(recheck)
  end
end

--- Open the card at conf.pciaddr, which is this app's alone. With `rxq = false` nothing
--- is received from it, with `txq = false` nothing is sent to it; with `wait_for_link`
--- it waits for the link up to `linkup_wait` seconds.
function Intel:new(conf, checked)
  local o = new(self, conf, checked)
  o.conf = conf
  if conf.wait_for_link then wait_for_link(o.port, conf) end
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

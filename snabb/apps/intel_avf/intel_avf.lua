-- SPDX-License-Identifier: Apache-2.0
-- Snabb's app for Intel's Adaptive Virtual Functions: the Port app, by PCI address.
-- With `nqueues` the packets go through IO apps, as in Snabb; then Intel_avf itself
-- opens nothing.

local alias = require("apps.port.port").alias
local refuse = require("lib.refuse")
local sharing = require("apps.intel_mp.sharing")

local M = {}

local Intel_avf = alias {
  name = "Intel_avf",
  config = {
    pciaddr = {required = true},
    nqueues = {},
    vlan = {},
    macs = {default = {}},
    ring_buffer_size = {default = 2048},
  },
  port = function(conf) return conf.pciaddr end,
}
M.Intel_avf = Intel_avf

local new, check_arg = Intel_avf.new, Intel_avf.check_arg

local Control = {}
Control.__index = Control

--- Open the function at conf.pciaddr, or with conf.nqueues leave that to IO apps.
function Intel_avf:new(conf, checked)
  if conf.nqueues then return setmetatable({}, Control) end
  return new(self, conf, checked)
end

--- See apps.port.port.
function Intel_avf.check_arg(conf)
  if not conf.nqueues then return check_arg(conf) end
  refuse("Intel_avf with nqueues", conf.pciaddr, conf,
    {vlan = "leave nqueues out, or put apps.vlan.vlan behind the IO app"})
end

--- One with a VLAN has a switch by VLAN between itself and the card.
function Intel_avf.shares(conf)
  return conf.vlan and not conf.nqueues and sharing.card(conf) or nil
end
Intel_avf.expand_together = sharing.expand

--- The packets of one queue. A port has one queue, so one IO app a function.
M.IO = alias {
  name = "IO",
  config = {pciaddr = {required = true}, queue = {required = true}},
  port = function(conf) return conf.pciaddr end,
}

--- The class under the name by which programs choose among driver modules.
M.driver = Intel_avf

return M

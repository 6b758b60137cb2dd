-- SPDX-License-Identifier: Apache-2.0
-- Snabb's app for Intel's Adaptive Virtual Functions: the Port app, by PCI address.
-- With `nqueues` the packets go through IO apps, as in Snabb; then Intel_avf itself
-- opens nothing.

local alias = require("apps.port.port").alias
local notice = require("lib.port.notice")

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
  port = function(conf)
    notice.without_effect("Intel_avf", conf.pciaddr, conf, {"vlan"})
    return conf.pciaddr
  end,
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
end

--- The packets of one queue. A port has one queue, so one IO app a function.
M.IO = alias {
  name = "IO",
  config = {pciaddr = {required = true}, queue = {required = true}},
  port = function(conf) return conf.pciaddr end,
}

--- The class under the name by which programs choose among driver modules.
M.driver = Intel_avf

return M

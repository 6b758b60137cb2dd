-- SPDX-License-Identifier: Apache-2.0
-- Snabb's app for Solarflare cards: the Port app, by PCI address.

local alias = require("apps.port.port").alias
local failure = require("core.failure")
local notice = require("lib.port.notice")

local M = {}

--- SolarFlareNic:new {pciaddr=}
M.SolarFlareNic = alias {
  name = "SolarFlareNic",
  port = function(conf)
    if type(conf) ~= "table" or not conf.pciaddr then
      failure.usage("SolarFlareNic's argument is a table with `pciaddr`")
    end
    notice.without_effect("SolarFlareNic", conf.pciaddr, conf, {"vlan"})
    return conf.pciaddr
  end,
}

--- The class under the name in Snabb's manual.
M.Solarflare = M.SolarFlareNic

--- The class under the name by which programs choose among driver modules.
M.driver = M.SolarFlareNic

return M

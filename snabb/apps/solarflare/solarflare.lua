-- SPDX-License-Identifier: Apache-2.0
-- Snabb's app for Solarflare cards: the Port app, by PCI address.

local alias = require("apps.port.port").alias
local sharing = require("apps.intel_mp.sharing")

local M = {}

--- SolarFlareNic:new {pciaddr=, macaddr=, vlan=}
M.SolarFlareNic = alias {name = "SolarFlareNic", needs = "pciaddr"}

-- The argument as apps.intel_mp.sharing takes it: a pool by address and VLAN.
local function with_pool(conf)
  local arg = {vmdq = conf.macaddr ~= nil}
  for key, value in pairs(conf) do arg[key] = value end
  return arg
end

--- One with an address or a VLAN has a switch between itself and the card.
function M.SolarFlareNic.shares(conf)
  return type(conf) == "table" and (conf.macaddr or conf.vlan)
    and sharing.card(with_pool(conf)) or nil
end

function M.SolarFlareNic.expand_together(apps, card)
  local list = {}
  for i, app in ipairs(apps) do
    list[i] = {name = app.name, class = app.class, arg = with_pool(app.arg)}
  end
  return sharing.expand(list, card)
end

--- The class under the name in Snabb's manual.
M.Solarflare = M.SolarFlareNic

--- The class under the name by which programs choose among driver modules.
M.driver = M.SolarFlareNic

return M

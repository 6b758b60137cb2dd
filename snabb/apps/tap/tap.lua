-- SPDX-License-Identifier: Apache-2.0
-- Snabb's Tap: the Port app on a TAP interface, which it makes if there is none of that
-- name. The MTU in its argument counts the Ethernet header; the kernel's doesn't.

local alias = require("apps.port.port").alias
local failure = require("core.failure")
local device = require("lib.port.device")
local iface = require("lib.port.iface")
local interfaces = require("lib.hardware.interfaces")
local lib = require("core.lib")
local notice = require("lib.port.notice")

local M = {}

local ETHERNET_HEADER_BYTES = 14

local argument = {
  name = {required = true},
  mtu = {default = 1514},
  mtu_fixup = {default = true},
  mtu_offset = {default = ETHERNET_HEADER_BYTES},
  mtu_set = {},
  overwrite_dst_mac = {default = false},
  forwarding = {default = false},
}

local function parse(conf)
  if type(conf) == "string" then conf = {name = conf} end
  return lib.parse(conf, argument)
end

local Tap = alias {
  name = "Tap",
  port = function(conf)
    conf = parse(conf)
    notice.without_effect("Tap", conf.name, conf, {"overwrite_dst_mac", "forwarding"})
    return "tap:" .. conf.name
  end,
}
M.Tap = Tap

local new = Tap.new

local function set_mtu(app, name, mtu)
  local ok, reason = iface.set_mtu(name, mtu)
  if not ok then
    failure.raise("Tap '%s': the kernel doesn't take an MTU of %d: %s", name, mtu,
      reason)
  end
  device.carry_mtu(app.port, app.kind, mtu)
end

local NEW_MTU = 1500  -- of an interface that DPDK's driver makes

-- The interface's MTU must be what the argument says, unless the app is to set it.
local function check_mtu(name, mtu)
  local current = interfaces.exists(name) and interfaces.details(name).mtu or NEW_MTU
  if current ~= mtu then
    failure.usage("Tap '%s': its MTU is %s and the argument asks for %d; pass"
      .. " mtu_set = true, or: ip link set %s mtu %d", name, tostring(current), mtu,
      name, mtu)
  end
end

--- Tap:new(conf), a name or {name=, mtu=, mtu_fixup=, mtu_offset=, mtu_set=}. The MTU
--- is set on an interface that this makes; one that was there must have it already.
--- `mtu_set` = true or false asks for one or the other.
function Tap:new(conf, checked)
  conf = parse(conf)
  local mtu = conf.mtu - (conf.mtu_fixup and conf.mtu_offset or 0)
  local set = conf.mtu_set
  if set == nil then set = not interfaces.exists(conf.name) end
  if not set then check_mtu(conf.name, mtu) end
  local o = new(self, conf, checked)
  -- DPDK's driver has just set an MTU of 1,500, also on an interface that was there.
  local ok, err = pcall(set_mtu, o, conf.name, mtu)
  if not ok then
    o:stop()
    error(err, 0)
  end
  return o
end

--- The class under the name by which programs choose among driver modules.
M.driver = Tap

return M

-- SPDX-License-Identifier: Apache-2.0
-- Alarms of this process in Snabb's list (lib.yang.alarms, where that is to be had).

local lib = require("core.lib")
local unistd = require("posix.unistd")

local snabb_alarm = {}

local NONE = {raise = function () end, clear = function () end}

--- An object with the methods raise() and clear(), for the alarm `id`. `options`:
--- severity ("critical"), description (of all alarms with that id), text, and
--- qualifier, which tells this one from others with that id (optional).
function snabb_alarm.declare(id, options)
  if not lib.have_module("lib.yang.alarms") then return NONE end
  local alarms = require("lib.yang.alarms")
  local resource = tostring(unistd.getpid())
  alarms.add_to_inventory(
    {alarm_type_id = id, alarm_type_qualifier = options.qualifier},
    {resource = resource, has_clear = true, description = options.description})
  return alarms.declare_alarm(
    {resource = resource, alarm_type_id = id, alarm_type_qualifier = options.qualifier},
    {perceived_severity = options.severity, alarm_text = options.text})
end

--- The alarm of an app that looks for a next hop by `protocol` ("ARP"), which resolves
--- `what` ("IP address").
function snabb_alarm.unresolved(protocol, what)
  return snabb_alarm.declare(protocol:lower() .. "-resolution", {
    severity = "critical",
    description = ("Raise up if %s app cannot resolve %s"):format(protocol, what),
    text = ("Make sure you can %s resolve IP addresses on NIC"):format(protocol)})
end

return snabb_alarm

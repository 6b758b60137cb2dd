-- SPDX-License-Identifier: Apache-2.0
-- An alarm of Snabb's kind (its lib.yang.alarms, where that is to be had) that an app
-- raises and clears: that it doesn't know a neighbour's address. Without, it does
-- nothing.

local unistd = require("posix.unistd")
local lib = require("core.lib")

local resolution_alarm = {}

local NO_ALARM = {raise = function () end, clear = function () end}

--- The alarm `id`, told with `description` and `text`.
function resolution_alarm.new(id, description, text)
  if not lib.have_module("lib.yang.alarms") then return NO_ALARM end
  local alarms = require("lib.yang.alarms")
  local resource = tostring(unistd.getpid())
  alarms.add_to_inventory({alarm_type_id = id},
    {resource = resource, has_clear = true, description = description})
  return alarms.declare_alarm({resource = resource, alarm_type_id = id},
    {perceived_severity = "critical", alarm_text = text})
end

return resolution_alarm

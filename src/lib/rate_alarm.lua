-- SPDX-License-Identifier: Apache-2.0
-- Alarms of Snabb's kind (its lib.yang.alarms, where that is to be had): raised while a
-- counter of an app grows by more than so much a second. Without, none are raised.

local unistd = require("posix.unistd")
local lib = require("core.lib")

local rate_alarm = {}

local NO_ALARM = {check = function () end}
local PERIOD = 1 -- seconds

local available

--- An object whose check() is to be called now and then. `app.shm[counter]` is the
--- counter, `limit` what it may grow by a second; `id`, `description` and `text` are
--- told with the alarm. `options` may have `period`, seconds between looks (default 1),
--- and `severity` (default "warning").
function rate_alarm.new(app, counter, limit, id, description, text, options)
  options = options or {}
  if available == nil then available = lib.have_module("lib.yang.alarms") end
  if not available then return NO_ALARM end
  local alarms = require("lib.yang.alarms")
  local resource = tostring(unistd.getpid())
  alarms.add_to_inventory({alarm_type_id = id},
    {resource = resource, has_clear = true, description = description})
  local alarm = alarms.declare_alarm({resource = resource, alarm_type_id = id},
    {perceived_severity = options.severity or "warning", alarm_text = text})
  return alarms.CounterAlarm.new(alarm, options.period or PERIOD, limit, app, counter)
end

return rate_alarm

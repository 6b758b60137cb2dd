-- SPDX-License-Identifier: Apache-2.0
-- The schema of the state of alarms: YANG's module ietf-alarms, of the draft that
-- upstream has, as nodes like those of apps.lwaftr.conf_schema. Lists have arrays of
-- entries in memory, with their keys in them.

local schema = require("apps.lwaftr.conf_schema")
local values = require("apps.lwaftr.conf_values")

local function leaf(name, type) return {name = name, type = type} end

local function list(name, keys, fields)
  local node = schema.list(name, nil, fields)
  node.keys = keys
  return node
end

-- In memory they are seconds since 1970; two changes within one are told apart.
local moment = {
  what = values.date.what,
  read = values.date.read,
  write = function (time)
    if type(time) == "string" then return time end
    local seconds = math.floor(time)
    return os.date("!%Y-%m-%dT%H:%M:%S", seconds)
      .. (".%03dZ"):format(math.floor((time - seconds) * 1000))
  end,
}

local text, number = values.text, values.uint32

local function texts(name) return {name = name, type = text, is_leaf_list = true} end

local function alarm_list(name)
  return list(name, {"resource", "alarm-type-id", "alarm-type-qualifier"}, {
    leaf("resource", text), leaf("alarm-type-id", text),
    leaf("alarm-type-qualifier", text), leaf("time-created", moment),
    leaf("is-cleared", values.boolean), leaf("last-changed", moment),
    leaf("perceived-severity", text), leaf("alarm-text", text),
    list("status-change", {"time"}, {
      leaf("time", moment), leaf("perceived-severity", text), leaf("alarm-text", text),
    }),
    list("operator-state-change", {"time"}, {
      leaf("time", moment), leaf("operator", text), leaf("state", text),
      leaf("text", text),
    }),
  })
end

local alarms_state = schema.container(nil, {schema.container("alarms", {
  schema.container("alarm-inventory", {
    list("alarm-type", {"alarm-type-id", "alarm-type-qualifier"}, {
      leaf("alarm-type-id", text), leaf("alarm-type-qualifier", text),
      texts("resource"), leaf("has-clear", values.boolean), leaf("description", text),
    }),
  }),
  schema.container("summary", {
    list("alarm-summary", {"severity"}, {
      leaf("severity", text), leaf("total", number), leaf("cleared", number),
      leaf("cleared-not-closed", number), leaf("cleared-closed", number),
      leaf("not-cleared-closed", number), leaf("not-cleared-not-closed", number),
    }),
  }),
  schema.container("alarm-list", {
    leaf("number-of-alarms", number), leaf("last-changed", moment), alarm_list("alarm"),
  }),
  schema.container("shelved-alarms", {
    leaf("number-of-shelved-alarms", number), leaf("alarm-shelf-last-changed", moment),
    alarm_list("shelved-alarm"),
  }),
})})

--- The type of times.
alarms_state.time = moment

return alarms_state

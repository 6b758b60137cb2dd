-- SPDX-License-Identifier: Apache-2.0
-- What a running lwAFTR does when it is called over its socket (lib.leader.calls): the
-- calls of `snabb config`, by their names.

local alarm_schema = require("program.lwaftr.leader.alarm_schema")
local alarms = require("program.lwaftr.leader.alarms")
local change = require("program.lwaftr.leader.change")
local failure = require("core.failure")
local ietf = require("program.lwaftr.leader.ietf")
local path = require("program.lwaftr.leader.path")
local printer = require("program.lwaftr.leader.printer")
local schema = require("apps.lwaftr.conf_schema")
local state = require("program.lwaftr.leader.state")
local tree = require("program.lwaftr.leader.tree")

local requests = {}

local NATIVE, IETF = "snabb-softwire-v3", "ietf-softwire-br"
local ALARMS = "ietf-alarms"

--- By name: a function from the leader (program.lwaftr.leader.leader), the fields of a
--- call and its connection to the fields of the answer. They raise what is wrong, and
--- yield where they have to wait.
requests.calls = {}
local calls = requests.calls

-- Is the call about the IETF's schema, not the native one?
local function is_ietf(fields)
  local name = fields.schema or NATIVE
  if name == IETF then return true end
  if name ~= NATIVE then
    failure.usage("the schema '%s' isn't known here; there are %s and %s", name, NATIVE,
      IETF)
  end
  return false
end

local function print(root, of, fields)
  local target = path.find(of, fields.path or "/")
  return printer.pieces(target, tree.get(root, target), fields.format,
    fields["print-default"] == "true")
end

calls["describe"] = function ()
  return {
    ["native-schema"] = NATIVE, ["default-schema"] = IETF,
    ["alternate-schema"] = {IETF},
    capability = {
      {module = IETF, feature = {"binding-mode"}},
      {module = ALARMS,
        feature = {"operator-actions", "alarm-shelving", "alarm-history"}},
    },
  }
end

calls["get-schema"] = function (_, fields)
  failure.raise("the text of the schema '%s' isn't here; Snabb's checkout has it",
    fields.schema or "")
end

calls["get-config"] = function (leader, fields)
  if is_ietf(fields) then
    local root = ietf.config(leader.router, fields.path or "/")
    return {config = print(root, ietf.schema, fields)}
  end
  return {config = print(leader.router.conf, schema, fields)}
end

-- Alarms have a schema of their own; by their path they are found in any.
local function is_alarms(fields)
  return fields.schema == ALARMS or (fields.path or ""):match("^/*alarms%f[/%z]") ~= nil
end

calls["get-alarms-state"] = function (leader, fields)
  return {state = print(leader.alarms:state(), alarm_schema, fields)}
end

calls["get-state"] = function (leader, fields)
  if is_alarms(fields) then return calls["get-alarms-state"](leader, fields) end
  local now = state.of(leader.router)
  if is_ietf(fields) then
    return {state = print(ietf.state(leader.router, now), ietf.state_schema, fields)}
  end
  return {state = print(now, state.schema, fields)}
end

local function which(fields)
  return {resource = fields.resource, alarm_type_id = fields["alarm-type-id"],
    alarm_type_qualifier = fields["alarm-type-qualifier"]}
end

calls["set-alarm-operator-state"] = function (leader, fields)
  for _, name in ipairs{"resource", "alarm-type-id", "state"} do
    if not fields[name] then failure.usage("this call needs a %s", name) end
  end
  leader.alarms:set_operator_state(which(fields), fields.state, fields.text,
    alarms.now())
  return {success = true}
end

calls["purge-alarms"] = function (leader, fields)
  return {["purged-alarms"] = leader.alarms:purge({
    alarm_status = fields["alarm-status"], older_than = fields["older-than"],
    severity = fields.severity, operator_state_filter = fields["operator-state-filter"],
  }, alarms.now())}
end

calls["compress-alarms"] = function (leader, fields)
  return {["compressed-alarms"] = leader.alarms:compress(which(fields))}
end

-- While somebody listens, nobody else changes anything.
local function changing(leader, connection)
  if leader.listener and leader.listener ~= connection then
    failure.raise("it can't be changed while somebody else does so by "
      .. "`config listen`")
  end
end

-- Call func(...), a change, of all if `whole`: it is answered once it is saved, if it
-- is to be.
local function saved(leader, whole, func, ...)
  if not leader.saving then return func(...) end
  leader.saving:before()
  func(...)
  local problem = leader.saving:after(whole, coroutine.yield)
  if problem then failure.raise("this is changed, but isn't saved: %s", problem) end
end

local function changer(verb)
  return function (leader, fields, connection)
    changing(leader, connection)
    local at = fields.path or "/"
    local f = is_ietf(fields) and ietf[verb] or change[verb]
    saved(leader, not at:find("[^/]"), f, leader.router, at, fields.config or "")
    return {}
  end
end

calls["set-config"] = changer("set")
calls["add-config"] = changer("add")
calls["remove-config"] = changer("remove")

-- Perigee's own: the whole configuration from a file. Packets move on, and others are
-- answered, while it is read.
calls["load-file"] = function (leader, fields, connection)
  changing(leader, connection)
  local conf = change.read(fields.file or "", coroutine.yield)
  changing(leader, connection) -- somebody may listen by now
  saved(leader, true, change.load, leader.router, conf)
  return {}
end

calls["attach-listener"] = function (leader, _, connection)
  if leader.listener and leader.listener ~= connection then
    failure.raise("somebody listens already")
  end
  leader.listener = connection
  return {}
end

calls["shutdown"] = function (leader)
  leader.over = true
  return {}
end

-- Perigee's own: be ready no more, or again (program.lwaftr.readiness).
calls["drain"] = function (leader, fields)
  leader.readiness:drain(fields.on ~= "false")
  return {state = leader.readiness.told}
end

--- The fields of the answer to a call; what is wrong is one of them.
function requests.answer(leader, call, connection)
  local f = calls[call.name]
  if not f then
    return {status = 1, error = ("there is no call '%s'"):format(call.name)}
  end
  local ok, result = pcall(f, leader, call.fields, connection)
  if ok then return result end
  return {status = 1, error = tostring(result)}
end

return requests

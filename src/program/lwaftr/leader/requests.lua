-- SPDX-License-Identifier: Apache-2.0
-- What a running lwAFTR does when it is called over its socket (lib.leader.calls): the
-- calls of `snabb config`, by their names.

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
      {module = "ietf-alarms",
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

calls["get-state"] = function (leader, fields)
  local now = state.of(leader.router)
  if is_ietf(fields) then
    return {state = print(ietf.state(leader.router, now), ietf.state_schema, fields)}
  end
  return {state = print(now, state.schema, fields)}
end

-- While somebody listens, nobody else changes anything.
local function changing(leader, connection)
  if leader.listener and leader.listener ~= connection then
    failure.raise("it can't be changed while somebody else does so by "
      .. "`config listen`")
  end
end

local function changer(verb)
  return function (leader, fields, connection)
    changing(leader, connection)
    if is_ietf(fields) then
      ietf[verb](leader.router, fields.path or "/", fields.config or "")
    else
      change[verb](leader.router, fields.path or "/", fields.config or "")
    end
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
  change.load(leader.router, conf)
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

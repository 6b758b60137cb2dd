-- SPDX-License-Identifier: Apache-2.0
-- What a running Click configuration accepts on its process's control socket
-- (doc/control.md): its handlers, and another configuration. Clients are of this user
-- or root, so what they ask for has no limits (click.script.trust), as on a
-- ControlSocket.

local arguments = require("lib.control.arguments")
local between = require("lib.control.between")
local calls = require("click.script.calls")
local errors = require("click.errors")
local handlers = require("click.router.handlers")
local server = require("lib.control.server")
local trust = require("click.script.trust")

local control = {}

local current -- {router, find = f(name) to the element, replaceable}

--- The router is the one that runs from now on; find(name) returns its element of that
--- name, where it is on several CPUs. `replaceable`: -R was given.
function control.serve(router, find, replaceable)
  current = {router = router, replaceable = replaceable, divided = find ~= nil,
    find = find or function (name) return calls.element(router, name) end}
end

--- The router runs in the place of the one before, if that was served.
function control.follow(router)
  if current then control.serve(router, nil, current.replaceable) end
end

local function text(request, key, default)
  local value = arguments.text(request, key) or default
  if value then return value end
  error(("%s says which %s"):format(request["do"], key), 0)
end

local function element_of(name)
  if name == "" then return current.router.root end
  local e = current.find(name)
  if e then return e end
  error(("there is no element '%s'"):format(name), 0)
end

-- The call of the handler "ELEMENT.HANDLER", or of the router's own.
local function call_of(request, kind, argument)
  local full = text(request, "handler"):gsub("^0?%.", "")
  local name, handler = full:match("^([^.]*)%.(.*)$")
  local call = calls.make(element_of(name or ""), handler or full, argument)
  if call.handler and not call.handler.private then
    if call.handler[kind] then return call, full end
    error(("handler '%s' can't be %s"):format(full,
      kind == "read" and "read" or "written to"), 0)
  end
  error(("there is no handler '%s'"):format(full), 0)
end

local function sentence(lines)
  return (table.concat(lines, "; "):gsub(":; *", ": "))
end

-- What f(...) returns: between breaths, where a handler may let packets pass, and what
-- it may do isn't limited.
local function call_in_turn(f, call, reporter)
  local router = current.router
  local before = router.turning
  router.turning = "polls"
  local ok, result = pcall(trust.call, router, true, f, call, reporter)
  router.turning = before
  if not ok then error(result, 0) end
  return result
end

local function read(request)
  local call, full = call_of(request, "read", text(request, "argument", ""))
  local reporter = errors.new()
  local value = call_in_turn(calls.read, call, reporter)
  if value and reporter.count == 0 then return {value = value} end
  error(("handler '%s': %s"):format(full, sentence(reporter.lines)), 0)
end

local function write(request)
  local value = text(request, "value", "")
  local call, full = call_of(request, "write", value)
  if current.divided and call.element == current.router.root then
    error(("handler '%s': on several CPUs only elements' handlers can be written to")
      :format(full), 0)
  end
  local reporter = errors.new()
  local status = call_in_turn(calls.write, call, reporter)
  if reporter.count > 0 or status < 0 then
    error(("handler '%s': %s"):format(full, sentence(reporter.lines)), 0)
  end
  return {written = true, warning = reporter.lines[1] and sentence(reporter.lines)}
end

-- Those of an element ("": the router's own), from what its handler `handlers` says.
local function list(e)
  local found = {}
  for line in (handlers.read(current.router, e, "handlers") or ""):gmatch("[^\n]+") do
    local name, abilities = line:match("^([^\t]*)\t(.*)$")
    found[#found + 1] = {name = name, read = abilities:find("r") ~= nil,
      write = abilities:find("w") ~= nil,
      argument = abilities:find("+", 1, true) ~= nil}
  end
  return #found > 0 and found or nil
end

local function describe(request)
  local name = arguments.text(request, "element")
  if name then return {handlers = list(element_of(name))} end
  local elements = {}
  for i, e in ipairs(current.router.elements) do
    elements[i] = {name = e.name, class = e.class.name}
  end
  return {elements = #elements > 0 and elements or nil}
end

-- Once nothing replaces the router that runs: f(request), between breaths.
local function when_settled(f, request)
  local answer
  return function ()
    if not answer then
      if current.router.replaced then return nil end
      answer = between.breaths(function () return f(request) end)
    end
    return answer()
  end
end

-- It is answered once the new one runs, or the former one runs on.
local function reconfigure(request)
  local new, old = text(request, "text"), current.router
  if not current.replaceable then
    error("its configuration can't be replaced: start `perigee click` with -R, on one "
      .. "CPU", 0)
  end
  local written = when_settled(function ()
    old = current.router
    return write{handler = "hotconfig", value = new}
  end)
  local accepted = false
  return function ()
    accepted = accepted or written() ~= nil
    if not accepted or current.router == old and old.replaced then return nil end
    if current.router == old then error(old.not_replaced or "it has ended", 0) end
    return {reconfigured = true}
  end
end

local function late(keys, f)
  return {arguments = keys, run = function (_, request)
    return when_settled(f, request)
  end}
end

--- Let the control socket of this process take them, of the router that is served.
function control.let_in()
  local commands = server.commands
  commands.handlers = late({element = true}, describe)
  commands.read = late({handler = true, argument = true}, read)
  commands.write = late({handler = true, value = true}, write)
  commands.reconfigure = {arguments = {text = true}, run = function (_, request)
    return reconfigure(request)
  end}
end

return control

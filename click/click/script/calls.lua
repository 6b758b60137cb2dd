-- SPDX-License-Identifier: Apache-2.0
-- Calls of handlers (click.router.handlers) by those who may cause several errors with
-- one, and want to have them all: scripts and sockets.
--
-- Handlers are called with a reporter of errors (click.errors) behind their text. A
-- read() that has reported errors may give text all the same; what write() returns may
-- be a number, which scripts see as `$?`. `private` handlers aren't for those who come
-- over the network.

local failure = require("core.failure")
local handlers = require("click.router.handlers")
local text_of = require("click.language.text")

local calls = {}

local EINVAL = 22 -- errno(3), the status of what went wrong

local function full_name(call) return handlers.full_name(call.element, call.name) end

local function unusable(call, kind)
  local handler = call.handler
  if not handler or not handler[kind] then
    return ("no '%s' %s handler"):format(full_name(call), kind)
  elseif kind == "read" and call.argument ~= "" and not handler.param then
    return ("read handler '%s' does not take parameters"):format(full_name(call))
  end
end

--- The call of an element's handler (router.root's: a global one) with this argument;
--- its `handler` is nil if there is none.
function calls.make(element, name, argument)
  return {element = element, name = name, argument = argument,
    handler = handlers.find(element.router, element, name)}
end

--- The call that `text`, "[element.]handler [argument]", stands for as `element` names
--- it; or nil and a message. `kind` is "read" or "write"; `unquoted`: without a layer
--- of quotes around the argument.
function calls.parse(text, element, kind, unquoted)
  local name, argument = handlers.split(text)
  local owner, found = handlers.resolve(element.router, name, element)
  if not owner then return nil, found end
  if unquoted then argument = text_of.unquote(argument) end
  local call = calls.make(owner, found, argument)
  local problem = unusable(call, kind)
  if problem then return nil, problem end
  return call
end

--- The element of that name, on whatever thread (click.router.handlers).
calls.element = handlers.element

--- The call's element and handler, as text.
calls.name = full_name

--- The call as text.
function calls.text(call)
  if call.argument == "" then return full_name(call) end
  return full_name(call) .. " " .. call.argument
end

-- f(...), where failures are results: false and the failure.
local function guarded(f, ...)
  local ok, result, message = pcall(f, ...)
  if ok or failure.is(result) then return ok, result, message end
  error(result, 0)
end

-- What the handler's functions get first.
local function receiver(call)
  local router = call.element.router
  return call.element == router.root and router or call.element
end

--- Read: text, or nil. What went wrong has been reported.
function calls.read(call, reporter)
  local problem = unusable(call, "read")
  if problem then
    reporter:error("%s", problem)
    return nil
  end
  local ok, value, message =
    guarded(call.handler.read, receiver(call), call.argument, reporter)
  if not ok then message, value = tostring(value), nil end
  if message then reporter:error("%s", message) end
  if value ~= nil then return handlers.as_text(value) end
end

--- Write the call's argument. Returns the status: 0, another number that the handler
--- chose, or a negative one after an error, which has been reported.
function calls.write(call, reporter)
  local ok, result =
    guarded(call.handler.write, receiver(call), call.argument, reporter)
  if not ok then result = tostring(result) end
  if type(result) == "number" then return result end
  if type(result) ~= "string" then return 0 end
  reporter:error("%s", result)
  return -EINVAL
end

return calls

-- SPDX-License-Identifier: Apache-2.0
-- Handlers: what can be read and written of a running router by name, as
-- "element.handler arguments", and, of the router as a whole, "handler" alone.
--
-- A class has them in `handlers`, an instance may have a table of its own of that name:
--
--     count = {read = function (self, argument, reporter) return "5" end,
--              write = function (self, text, reporter) ... end}
--
-- read() returns text, or nil and a message. write() returns nothing, a message, or a
-- number that scripts see as `$?`. Both may report more than one error (click.errors).
-- A read() that doesn't name an argument takes none. Further fields: `private`: not for
-- those who come over the network; `raw`: print without a newline behind it.
--
-- An element with a method find_handler(name) is asked for those it has no entry for.

local failure = require("core.failure")
local text_of = require("click.language.text")
local defaults = require("click.script.defaults")
local globals = require("click.script.globals")

local handlers = {}

local EINVAL = 22 -- errno(3), the status of what went wrong
local listing -- the handler that lists handlers; everything has it

--- What stands for the router where an element is expected: global handlers are its.
function handlers.root(router)
  router.root = router.root or {router = router, name = "", index = 0,
    handlers = globals, is_root = true}
  return router.root
end

--- The handler of that name, or nil.
function handlers.find(element, name)
  local own = element.handlers and element.handlers[name]
  if own then return own end
  if name == "handlers" then return listing end
  if element.is_root then return nil end
  local default = defaults.find(element, name)
  if default then return default end
  return element.find_handler and element:find_handler(name)
end

-- Add the names of `list` and of those it inherits from.
local function add_names(list, names, seen)
  while list do
    for name in pairs(list) do
      if not seen[name] then names[#names + 1], seen[name] = name, true end
    end
    local meta = getmetatable(list)
    list = meta and type(meta.__index) == "table" and meta.__index or nil
  end
end

--- The names of an element's handlers: those that all elements have, then its own.
function handlers.names(element)
  local names = element.is_root and {} or defaults.names(element)
  names[#names + 1] = "handlers"
  local seen = {}
  for _, name in ipairs(names) do seen[name] = true end
  local own = {}
  add_names(element.handlers, own, seen)
  table.sort(own)
  for _, name in ipairs(own) do names[#names + 1] = name end
  return names
end

-- One a line: its name, a tab, and r, w, + (reading takes arguments), % (raw).
listing = {read = function (element)
  local lines = {}
  for _, name in ipairs(handlers.names(element)) do
    local handler = handlers.find(element, name)
    lines[#lines + 1] = ("%s\t%s%s%s%s\n"):format(name,
      handler.read and not handler.private and "r" or "",
      handler.write and not handler.private and "w" or "",
      handlers.takes_argument(handler) and "+" or "", handler.raw and "%" or "")
  end
  return table.concat(lines)
end}

--- "element.handler", or "handler" for a global one.
function handlers.label(element, name)
  return element.is_root and name or element.name .. "." .. name
end

--- Does reading it take an argument?
function handlers.takes_argument(handler)
  if not handler.read then return false end
  local info = debug.getinfo(handler.read, "u")
  return info.nparams >= 2 or info.isvararg
end

-- Which element and handler `name` means, seen from the element `context`: with an
-- element's name, in the compound that holds `context` and those around it; without
-- one, `context`'s own, and then a global one.
local function resolve(name, context)
  local router = context.router
  local root = handlers.root(router)
  if name:sub(1, 1) == "." then return root, name:sub(2) end
  local element_name, handler_name = name:match("^([^.]*)%.(.*)$")
  if handler_name == "" then return nil, "syntax error" end
  if element_name then
    local element = router:find(element_name, context)
    if element then return element, handler_name end
  end
  if not context.is_root and handlers.find(context, name) then return context, name end
  if not element_name or handlers.find(root, name) then return root, name end
  return nil, ("no element named '%s'"):format(element_name)
end

local function unusable(call, kind)
  local handler = call.handler
  if not handler or not handler[kind] then
    return ("no '%s' %s handler"):format(handlers.label(call.element, call.name), kind)
  elseif kind == "read" and call.argument ~= ""
      and not handlers.takes_argument(handler) then
    return ("read handler '%s' does not take parameters")
      :format(handlers.label(call.element, call.name))
  end
end

--- The call that `text`, "[element.]handler [arguments]", stands for in the element
--- `context`: {element =, name =, handler =, argument =}; or nil and a message. `kind`
--- is "read" or "write", `unquoted`: without a layer of quotes around the arguments.
function handlers.parse(text, context, kind, unquoted)
  local name, argument = text_of.first_word(text)
  name = text_of.unquote(name)
  if name == "" then return nil, "syntax error" end
  local element, found = resolve(name, context)
  if not element then return nil, found end
  local call = {element = element, name = found,
    argument = unquoted and text_of.unquote(argument) or argument,
    handler = handlers.find(element, found)}
  local problem = unusable(call, kind)
  if problem then return nil, problem end
  return call
end

--- The call as text.
function handlers.text(call)
  local label = handlers.label(call.element, call.name)
  return call.argument == "" and label or label .. " " .. call.argument
end

-- f(...), where failures are results: false and the failure.
local function guarded(f, ...)
  local ok, result, message = pcall(f, ...)
  if ok or failure.is(result) then return ok, result, message end
  error(result, 0)
end

--- Read. Returns text, or nil; what went wrong has been reported.
function handlers.read(call, reporter)
  local ok, text, message =
    guarded(call.handler.read, call.element, call.argument, reporter)
  if not ok then message, text = tostring(text), nil end
  if message then reporter:error("%s", message) end
  return text and tostring(text)
end

--- Write call.argument. Returns the status: 0, another number that the handler chose,
--- or a negative one after an error, which has been reported.
function handlers.write(call, reporter)
  local ok, result =
    guarded(call.handler.write, call.element, call.argument, reporter)
  if not ok then result = tostring(result) end
  if type(result) == "number" then return result end
  if type(result) ~= "string" then return 0 end
  reporter:error("%s", result)
  return -EINVAL
end

return handlers

-- SPDX-License-Identifier: Apache-2.0
-- Handlers: named values and commands of elements, and of the router as a whole, which
-- Click's scripts, sockets and command line read and write as text.
--
-- A handler is {read = f(element, arguments), write = f(element, text)}, one or both;
-- `param` says that the read handler takes arguments, `raw` that no newline belongs
-- behind its text, `hidden` that it isn't listed, `join` what copies of a router on
-- several CPUs say together (program.click.joined). read() may return a number or a
-- boolean for its text; nil and a text is an error. What write() returns is an error's
-- text, if anything. The router's own are called with the router.

local configure = require("click.router.configure")
local division = require("click.threads.division")
local element = require("click.element")
local passing = require("click.threads.passing")
local ports = require("click.router.ports")
local text_of = require("click.language.text")
local tables = require("core.lib.tables")

local handlers = {}

-- What every element has ---------------------------------------------------

-- The letters that the class gives to its ports, before they were settled.
local function own_letters(e, is_output)
  local code = e.class.processing
  if type(code) == "function" then code = code(e) end
  local inputs, outputs = ports.processing(code, e.ninputs, e.noutputs)
  return is_output and outputs or inputs
end

-- Where a port leads: "[0] a, [1] b"; or what leads to it: "a [0], b [1]".
local function peers(e, is_output, port)
  local list = {}
  for _, far in ipairs(e.router:joined(e, is_output, port)) do
    local number = ("[%d]"):format(far.port - 1)
    list[#list + 1] = is_output and number .. " " .. far.element.name
      or far.element.name .. " " .. number
  end
  return table.concat(list, ", ")
end

local function side_text(e, is_output)
  local n = is_output and e.noutputs or e.ninputs
  local word = is_output and "output" or "input"
  local lines = {("%d %s%s\n"):format(n, word, n == 1 and "" or "s")}
  local settled = is_output and e.processing.outputs or e.processing.inputs
  local own = own_letters(e, is_output)
  for port = 1, n do
    lines[#lines + 1] = ("%s%s\t-\t%s\n"):format(
      settled:sub(port, port) == "l" and "pull" or "push",
      own:sub(port, port) == "a" and "~" or "", peers(e, is_output, port))
  end
  return table.concat(lines)
end

-- Do packets come to the element by pushing alone, from their sources on? (Classes with
-- hands_over = true hand them to another thread.)
local function is_full_push(e, seen)
  if seen[e] then return true end
  seen[e] = true
  for i = 1, e.ninputs do
    if e.processing.inputs:sub(i, i) == "l" then return false end
    for _, far in ipairs(e.router:joined(e, false, i)) do
      if far.element.class.hands_over then return false end
      if not is_full_push(far.element, seen) then return false end
    end
  end
  return true
end

-- The threads whose packets pass the element, as text.
local function passing_threads(e)
  local lists = e.router.options.passing
  if not lists then lists = select(4, division.of(e.router)) end
  return passing.text(lists[e.name] or {})
end

-- The thread that packets begin at the element in, as text: where it pushes on what it
-- pulls or makes, or pulls what ends there.
local function spawning_threads(e)
  local pulls = e.processing.inputs:sub(1, 1) == "l"
  local pushes = e.processing.outputs:sub(1, 1) ~= "l"
  local spawns = (e.ninputs == 0 or pulls) and (e.noutputs == 0 or pushes)
  return passing.text(spawns and {e.home_thread or 0} or {})
end

local DEFAULTS = {
  is_fullpush = {read = function (e) return is_full_push(e, {}) end},
  name = {read = function (e) return e.name end},
  class = {read = function (e) return e.class.name end},
  config = {read = function (e) return e.config end},
  ports = {read = function (e) return side_text(e, false) .. side_text(e, true) end},
  handlers = {read = function (e) return handlers.list(e) end},
  home_thread = {read = function (e) return e.home_thread or 0 end},
  passing_threads = {read = passing_threads},
  spawning_threads = {read = spawning_threads},
  mt_safe = {read = function () return true end}, -- by locks, or a copy for each thread
}
local DEFAULT_ORDER = {"name", "class", "config", "ports", "handlers", "home_thread"}

local LIVE = { -- of classes that may be configured again
  config = {
    read = DEFAULTS.config.read,
    write = function (e, text) return configure.again(e, text) end,
  },
}

-- A class's own text of its configuration, which is written as that of others.
local readers = setmetatable({}, {__mode = "k"})

local function live_config(own)
  local both = readers[own]
  if not both then
    both = {read = own.read, write = LIVE.config.write}
    readers[own] = both
  end
  return both
end

local function whole_number(text)
  local n = tonumber(text)
  return n and n % 1 == 0 and n or nil
end

local TASK = {
  scheduled = {
    read = function (e) return e:scheduled() end,
    write = function (e, text)
      if text == "true" or text == "1" then e:schedule()
      elseif text == "false" or text == "0" then e:unschedule()
      else return "syntax error" end
    end,
  },
  tickets = {
    read = function (e) return e.router:task_of(e).tickets end,
    write = function (e, text)
      local n = whole_number(text)
      if not n then return "syntax error" end
      e.router:task_of(e):set_tickets(n)
    end,
  },
  home_thread = {
    read = DEFAULTS.home_thread.read,
    write = function (e, text)
      local n = whole_number(text)
      if not n then return "bad thread" end
      e.home_thread = n
    end,
  },
}

-- Finding ------------------------------------------------------------------

local of_class = setmetatable({}, {__mode = "k"})

local function class_handlers(class)
  local all = of_class[class]
  if not all then
    all = element.handlers(class)
    of_class[class] = all
  end
  return all
end

--- The handler of an element, or of the router itself (e = router.root); or nil. An
--- element may have a method find_handler(name) for those that nothing else has.
function handlers.find(router, e, name)
  if e == router.root then return router.global_handlers[name] end
  local own = rawget(e, "own_handlers")
  local found = own and own[name] or class_handlers(e.class)[name]
  if found and name == "config" and e.class.live and not found.write then
    return live_config(found)
  end
  return found or e.class.live and LIVE[name] or e.class.task and TASK[name]
    or DEFAULTS[name]
    or e.find_handler and e:find_handler(name)
end

local function names_of(e)
  local names, seen = {}, {}
  local function add(name)
    if not seen[name] then names[#names + 1] = name end
    seen[name] = true
  end
  local router, others = e.router, {}
  if e ~= router.root then
    for _, name in ipairs(DEFAULT_ORDER) do add(name) end
    for name in pairs(class_handlers(e.class)) do others[name] = true end
    for name in pairs(rawget(e, "own_handlers") or {}) do others[name] = true end
    for name in pairs(e.class.task and TASK or {}) do others[name] = true end
  else
    local list = router.global_handlers
    while list do
      for name in pairs(list) do others[name] = true end
      local meta = getmetatable(list)
      list = meta and meta.__index
    end
  end
  for _, name in ipairs(tables.sorted_keys(others)) do add(name) end
  return names
end

--- The handlers of an element as text: a line each, its name and what it can do.
function handlers.list(e)
  local lines = {}
  for _, name in ipairs(names_of(e)) do
    local h = handlers.find(e.router, e, name)
    if not h.hidden then
      lines[#lines + 1] = ("%s\t%s%s%s\n"):format(name, h.read and "r" or "",
        h.write and "w" or "", h.param and "+" or "")
    end
  end
  return table.concat(lines)
end

-- Names --------------------------------------------------------------------

--- What stands in `router` for the element `e`, which runs elsewhere: own(_, name) is a
--- handler of its, or nil.
function handlers.stand_in(router, e, own)
  return {name = e.name, router = router, class = {name = e.class.name},
    config = e.config, ninputs = e.ninputs, noutputs = e.noutputs,
    own_handlers = setmetatable({}, {__index = own})}
end

--- The full name of a handler.
function handlers.full_name(e, name)
  return e.name == "" and name or e.name .. "." .. name
end

--- The element of that name: here, or where router:elsewhere(name, near) knows it.
function handlers.element(router, name, near)
  local e = router:find(name, near)
  return e or router.elsewhere and router:elsewhere(name, near)
end

--- What "element.handler" stands for as the element `near` sees it (nil: the router):
--- the element (router.root for the router's own) and the handler's name; or nil and
--- what is wrong. Elements that aren't here may be known to router:elsewhere(name,
--- near): what that returns has name, class, router and own_handlers.
function handlers.resolve(router, text, near)
  if text == "" or text:match("%.$") then return nil, "syntax error" end
  if text:match("^%.") then return router.root, text:sub(2) end
  local name, rest = text:match("^([^.]+)%.(.+)$")
  local e = name and router:find(name, near)
  if e then return e, rest end
  if near and near ~= router.root and handlers.find(router, near, text) then
    return near, text
  end
  if not name or handlers.find(router, router.root, text) then
    return router.root, text
  end
  local other = router.elsewhere and router:elsewhere(name, near)
  if other then return other, rest end
  return nil, ("no element named '%s'"):format(name)
end

-- Calling ------------------------------------------------------------------

-- A handler's value as text.
local function as_text(value)
  if type(value) ~= "number" then return tostring(value) end
  if value % 1 == 0 and math.abs(value) < 1e15 then return ("%.0f"):format(value) end
  return ("%.15g"):format(value)
end

handlers.as_text = as_text

local function receiver(router, e) return e == router.root and router or e end

--- Read the element's handler; its text, or nil and what is wrong.
function handlers.read(router, e, name, arguments)
  local h = handlers.find(router, e, name)
  local full = handlers.full_name(e, name)
  if not (h and h.read) then return nil, ("no '%s' read handler"):format(full) end
  if arguments and arguments ~= "" and not h.param then
    return nil, ("read handler '%s' does not take parameters"):format(full)
  end
  local value, problem = h.read(receiver(router, e), arguments or "")
  if value == nil then return nil, problem or "" end
  return as_text(value)
end

--- Write `text` to the element's handler; true, or false and what is wrong.
function handlers.write(router, e, name, text)
  local h = handlers.find(router, e, name)
  if not (h and h.write) then
    return false, ("no '%s' write handler"):format(handlers.full_name(e, name))
  end
  local problem = h.write(receiver(router, e), text or "")
  if type(problem) == "string" then return false, problem end
  return true
end

--- A function that writes to the handler "element.handler VALUE" each time it is
--- called, or nil and what is wrong.
function handlers.writer(router, text, near)
  local name, value = handlers.split(text)
  local e, rest = handlers.resolve(router, name, near)
  if not e then return nil, rest end
  local h = handlers.find(router, e, rest)
  if not (h and h.write) then
    return nil, ("no '%s' write handler"):format(handlers.full_name(e, rest))
  end
  return function () return handlers.write(router, e, rest, value) end
end

--- The handler's name at the beginning of `text`, unquoted, and the rest.
function handlers.split(text)
  local name, rest = text_of.first_word(text)
  return text_of.unquote(name), rest
end

return handlers

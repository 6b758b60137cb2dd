-- SPDX-License-Identifier: Apache-2.0
-- Element classes. A class is a table that its instances find their methods in; its
-- other fields say which ports it has, what its arguments are, and so on. define()
-- fills in what is left out.
--
-- The router makes instances (element.new) and gives them their fields. An instance
-- with push ports is at the same time the engine's app, so an element may not have a
-- method that the engine would call: the names in RESERVED.

local arguments = require("click.arguments")
local C = require("core.native")
local luajit = require("core.luajit")

local element = {}

local Base = {}
element.Base = Base

local RESERVED = {"push", "push_link", "link", "unlink", "tick", "reconfig", "report",
                  "stop", "process_burst", "new"}

element.WRITES = 110 -- a phase

local DEFAULTS = {
  ports = "1/1", processing = "a/a", flow = "x/x", summary = "", phase = 100,
}

-- What is wrong with the class, if anything.
local function check(class)
  if type(class.name) ~= "string" then return "it has no name" end
  for _, field in ipairs{"ports", "processing", "flow"} do
    local kind = type(class[field])
    if kind ~= "string" and kind ~= "function" then
      return ("its %s is a %s, not text or a function"):format(field, kind)
    end
  end
end

--- A class of elements from the table `class`:
---   name, summary   what configurations call it, and a few words
---   aliases         a list of further names
---   extends         a class whose fields and methods it has where it has none itself
---   ports           how many inputs and outputs, as Click writes it ("1/1-2", "-/=")
---   processing      "a/ah": push (h), pull (l), either (a), by port; the last repeats
---   flow            which inputs lead to which outputs ("x/x": each to all)
---   arguments       a list of {NAME, TYPE, required =, default =, keyword =}; see
---                   click.arguments
---   keywords        the same of a class that reads its arguments itself; `meaning`:
---                   what its page says of one
---   notes           what its page says more
---   drops, emits    as in the engine: names of drops; whether self.emit is used
---   handlers        {NAME = {read = f, write = f}}
---   phase           elements with smaller numbers are configured and initialized first
---                   (100); element.WRITES for those that empty files, which others of
---                   the router may be about to read
---   make_process    a method that returns process(_, p, i) for the instance, with what
---                   its fields say as upvalues, which LuaJIT takes for constants; used
---                   on push paths instead of process, made anew by self:changed(). Its
---                   first argument may be nil
---   lengthens       as in the engine: the bytes that it adds to what it passes on;
---                   may be a function of the instance
---   reads           annotations that it looks at: a list of names (NETWORK_HEADER,
---                   PAINT; click.note), or {offset, bytes} as Click numbers them; may
---                   be a function of the instance. Without it: any
---   fills_cache     true: what it looks at (its flows, the tables of a library) fills
---                   the first cache, so that packets don't stay there, however few
---   division        how copies on several CPUs divide its packets
---                   (core.cpus.dividable), `undivided`: why there can't be any;
---                   `divided` and `readdresses`: see program.click.copies
---   live            its configuration may be changed while it runs
---   notifies, notifies_on, silent: see click.router.signals
--- The first three of Click's codes may be functions of the instance.
function element.define(class)
  local parent = class.extends or Base
  class.__index = class
  class.handlers = class.handlers or {}
  if class.extends then
    setmetatable(class.handlers, {__index = class.extends.handlers})
  else
    class.arguments = class.arguments or {}
    for field, value in pairs(DEFAULTS) do
      if class[field] == nil then class[field] = value end
    end
  end
  setmetatable(class, {__index = parent})
  local problem = check(class)
  if problem then
    error(("element class %s: %s"):format(tostring(class.name), problem), 2)
  end
  return class
end

--- An instance of the class, with these fields; not configured yet.
function element.new(class, fields)
  for _, name in ipairs(RESERVED) do
    if class[name] ~= nil then
      error(("element class %s has a method '%s', a name that is the engine's")
        :format(class.name, name))
    end
  end
  fields.class = class
  return setmetatable(fields, class)
end

--- All handlers that the class defines, by name.
function element.handlers(class)
  local all, at = {}, class
  while at and at ~= Base do
    for name, handler in pairs(rawget(at, "handlers") or {}) do
      all[name] = all[name] or handler
    end
    at = rawget(at, "extends")
  end
  return all
end

--- A handler for the instance's field: read, and written too if `kind`, a type of
--- arguments, says what it may be. written(element) is called after that.
function element.data(field, kind, written)
  local handler = {read = function (self) return self[field] end}
  if not kind then return handler end
  function handler.write(self, text)
    local value = arguments.value(text, {field, kind}, self)
    if value == nil then return "syntax error" end
    self[field] = value
    self:changed()
    if written then return written(self) end
  end
  return handler
end

--- What the engine is to call for each packet that is pushed to the element, or nil;
--- and whether it knows the element without being told.
function element.processor(e)
  local at = e.class
  while at and at ~= Base do
    local make = rawget(at, "make_process")
    if make then return luajit.copy(make(e)), true end
    if rawget(at, "process") then return at.process, false end
    at = rawget(at, "extends")
  end
end

--- What process() returns for a packet that isn't as the element needs it: its output
--- 1, or, where there is none, its first drop.
function element.reject(e, p)
  if e.noutputs == 2 then return p, 2 end
  return nil, 1
end

--- A handler that calls f(element) when something is written to it.
function element.command(f)
  return {write = function (self) return f(self) end}
end

-- What every element can do ----------------------------------------------

--- Something is wrong with this element's configuration (or with its initialization):
--- the router won't start. Return then. The text of the error is formatted.
function Base:error(fmt, ...) self.router:complain(self, "error", fmt, ...) end

--- The same as a warning: the router does start.
function Base:warning(fmt, ...) self.router:complain(self, "warning", fmt, ...) end

--- Print a line on stderr.
function Base:say(fmt, ...)
  self.router:say(select("#", ...) > 0 and fmt:format(...) or fmt)
end

--- The same with the element's name and class before it.
function Base:remark(fmt, ...)
  self:say("%s :: %s: " .. fmt, self.name, self.class.name, ...)
end

--- Say what couldn't be read or written while it runs; the exit status tells, too.
function Base:failed_to(problem)
  C.pg_note_failure()
  self:remark("%s", problem)
end

--- Does it push at its first output, as the router has settled it, and isn't pulled?
function Base:is_pushing() return self.processing.outputs:sub(1, 1) ~= "l" end

--- Call self:task() once in each breath from now on.
function Base:schedule() self.router:schedule(self) end

--- Don't, any more.
function Base:unschedule() self.router:unschedule(self) end

--- Is task() called?
function Base:scheduled() return self.router:is_scheduled(self) end

--- Add a handler of this instance alone.
function Base:add_handler(name, handler)
  self.own_handlers = rawget(self, "own_handlers") or {}
  self.own_handlers[name] = handler
end

--- To be called when fields have changed that make_process() looks at.
function Base:changed()
  if not (self.make_process and rawget(self, "process")) then return end
  self.process = element.processor(self)
  self.router:rearrange()
end

--- Packets that have come by push connections since the router began to run. (The
--- engine counts them at no cost.)
function Base:arrivals() return self.router:arrivals(self) end

--- What becomes of it: configured, initialized once all are, and cleaned up.
function Base:configure() end
function Base:initialize() end
function Base:cleanup() end

return element

-- SPDX-License-Identifier: Apache-2.0
-- For specs of Click's elements: one element by itself, without an engine. A spec gives
-- it packets and sees what came of each.
--
--   local unit = click.unit("Strip(2)")
--   assert.same({{1, "cdef"}}, unit:send("abcdef"))

local clock = require("click.router.clock")
local element = require("click.element")
local errors = require("click.errors")
local handlers = require("click.router.handlers")
local language = require("click.language")
local note = require("click.note")
local packet = require("core.packet")
local ports = require("click.router.ports")
local registry = require("click.registry")
local router = require("click.router.router")
local signals = require("click.router.signals")

local click = {}

local Unit = {}
Unit.__index = Unit

-- A router that has one element.
local Router = {}
Router.__index = Router

function Router:complain(_, kind, fmt, ...)
  local text = select("#", ...) > 0 and fmt:format(...) or fmt
  table.insert(self.unit[kind == "error" and "errors" or "warnings"], text)
end

function Router:collect(_, f)
  local former, problems = self.unit.errors, {}
  self.unit.errors = problems
  f()
  self.unit.errors = former
  return problems[1] and table.concat(problems, "\n") or nil
end

function Router:say(text) table.insert(self.unit.said, text) end
-- Of packets that were pushed.
function Router:arrivals() return self.unit.options.pull and 0 or self.unit.arrived end
function Router:rearrange() end
function Router:print(text) self.unit.printed = self.unit.printed .. text end
function Router:schedule(e) self.at_work[e] = true end
function Router:unschedule(e) self.at_work[e] = nil end
function Router:is_scheduled(e) return self.at_work[e] or false end
function Router:timer(f) return self.clock:timer(f) end
function Router:now() return self.clock:now() end
function Router:steady() return self.clock:steady() end
function Router:nanoseconds() return self.clock:nanoseconds() end
function Router:turn_time() return self.clock:peek() end
function Router:meter() end -- luacheck: no self
function Router:full_signals() return {{active = true}} end
Router.most_at_once = math.huge
function Router:gate() return {active = false} end -- luacheck: no self
function Router:full_gate() return {active = true} end -- luacheck: no self
function Router:writer(text)
  return function () table.insert(self.unit.called, text) end
end
function Router:stop() self.unit.stopped = true end
function Router:signals() return {} end
function Router:joined() return {} end
function Router:nearest() return self.unit.options.nearest or {} end
function Router:find(name)
  local others = self.unit.options.others or {}
  return others[name] or name == self.unit.element.name and self.unit.element or nil
end

local function parse(e, text)
  local configure = require("click.router.configure")
  return configure.element(e, text)
end

local function bytes_of(p)
  return require("ffi").string(p.data, p.length)
end

-- What has come out: {output, bytes}; the packet is kept in unit.packets.
local function came_out(unit, o, p)
  table.insert(unit.fresh, {o, bytes_of(p)})
  table.insert(unit.packets, p)
end

-- What process() returned for packet p.
local function settle(unit, p, q, o)
  if q == false then
    unit.kept = unit.kept + 1
  elseif q == nil then
    local reason = (unit.element.drops or {})[o] or "dropped"
    unit.lost[reason] = (unit.lost[reason] or 0) + 1
    packet.free(p)
  else
    came_out(unit, o or 1, q)
  end
end

local function take_fresh(unit)
  local fresh = unit.fresh
  unit.fresh = {}
  return fresh
end

-- Its ports' letters, where those that may be either are push, or pull.
local function letters_of(e, pull)
  local code = e.class.processing
  if type(code) == "function" then code = code(e) end
  local inputs, outputs = ports.processing(code, e.ninputs, e.noutputs)
  local either = pull and "l" or "h"
  return {inputs = inputs:gsub("a", either), outputs = outputs:gsub("a", either)}
end

--- The element that the declaration `text` ("Strip(14)") makes, with `options`: inputs,
--- outputs (how many are in use; 1, and what goes out of others is seen all the same),
--- name, others (elements that it finds, by name), nearest (those that it finds on
--- packets' way), time (seconds since 1970), values
--- (the parsed arguments by name, in the place of the text), pull (its agnostic ports
--- pull).
--- Errors are in unit.errors; else the element is initialized.
function click.unit(text, options)
  options = options or {}
  local name, config = text:match("^%s*([%w_]+)%s*%((.*)%)%s*$")
  name = name or text:match("^%s*([%w_]+)%s*$")
  local class = registry.find(name) or error("there is no element class " .. name)
  local unit = setmetatable({
    options = options, errors = {}, warnings = {}, said = {}, printed = "", lost = {},
    kept = 0, arrived = 0, fresh = {}, packets = {}, called = {},
  }, Unit)
  local alone = setmetatable({
    unit = unit, at_work = {}, turns = 0, options = {copy = options.copy},
    clock = clock.new{simulated = options.time or true},
  }, Router)
  local e = element.new(class, {
    name = options.name or "e", router = alone, landmark = "spec:1", index = 1,
    ninputs = options.inputs or 1, noutputs = options.outputs or 1,
    config = config or "", pull_from = {},
  })
  e.processing = letters_of(e, options.pull)
  signals.prepare(e)
  alone.elements = {e}
  unit.element, unit.router = e, alone
  e.emit = function (o, q) came_out(unit, o, q) end
  unit.supplies = {}
  for i = 1, e.ninputs do
    unit.supplies[i] = {}
    e.pull_from[i] = function () return table.remove(unit.supplies[i], 1) end
  end
  if options.values then e:configure(options.values) else parse(e, config or "") end
  if #unit.errors == 0 then e:initialize() end
  if #unit.errors == 0 and not options.pull then e.process = element.processor(e) end
  return unit
end

local function as_packet(p)
  if type(p) ~= "string" then return p end
  p = packet.from_string(p)
  note.clear(p)
  return p
end

--- Give it a packet (or bytes, of which one is made) at input `i` (1); a list of what
--- came out, {output, bytes} each, both counted from 1. `unit.lost` counts by reason
--- what was dropped, `unit.kept` what was kept.
function Unit:send(p, i)
  p = as_packet(p)
  self.arrived = self.arrived + 1
  settle(self, p, self.element:process(p, i or 1))
  return take_fresh(self)
end

--- The same with the packet itself: the first packet that came out, and its output; or
--- nil. It is the caller's to free.
function Unit:pass(p, i)
  local first = #self.packets + 1
  local out = self:send(p, i)
  if not out[1] then return nil end
  return table.remove(self.packets, first), out[1][1]
end

--- Let `p` (or bytes) wait upstream of the pull input `i` (1).
function Unit:supply(p, i) table.insert(self.supplies[i or 1], as_packet(p)) end

--- Pull from its output `o` (1): the packet's bytes, or nil.
function Unit:pull(o)
  local p = self.element:pull(o or 1)
  if not p then return nil end
  local text = bytes_of(p)
  packet.free(p)
  return text
end

--- Call its task, as long as it is scheduled, `times` (1); what came out.
function Unit:work(times)
  for _ = 1, times or 1 do
    if not self.router.at_work[self.element] then break end
    self.element:task()
  end
  return take_fresh(self)
end

--- Let `seconds` pass, and the timers of that time run; what came out.
function Unit:wait(seconds)
  local time = self.router.clock
  local ends = time:steady() + seconds
  while time:next() and time:next() <= ends do
    time:jump()
    time:run()
  end
  time.passed = math.max(time.passed, ends)
  return take_fresh(self)
end

--- The text of a read handler.
function Unit:read(name, argument)
  local handler = handlers.find(self.router, self.element, name)
  return handler.read(self.element, argument or "")
end

--- Call a write handler; what it returns (nil, or the text of an error).
function Unit:write(name, text)
  local handler = handlers.find(self.router, self.element, name)
  return handler.write(self.element, text or "")
end

--- Free the packets that came out.
function Unit:free()
  for _, p in ipairs(self.packets) do packet.free(p) end
  self.packets = {}
end

-- Routers ------------------------------------------------------------------

--- The router of a configuration's text, not running yet; or nil and the errors as
--- text. Lines that elements print on standard error are in `said`, a field of it, as
--- a list; time is simulated. `options`: those of click.router; engine = true runs it
--- on the engine, else it runs without.
function click.router(text, options)
  local reporter = errors.new()
  local flat = language.read{text = text, file = "spec", errors = reporter,
    class_of = options and options.find_class or registry.find,
    class_names = registry.names}
  if not flat then return nil, reporter:text() end
  local all = {errors = reporter, simtime = 1e9, direct = true}
  for name, value in pairs(options or {}) do all[name] = value end
  if all.engine then all.direct = false end
  local said = {}
  all.say = function (line) said[#said + 1] = line end
  local r = router.new(flat, all)
  if r then r.said = said end
  return r, reporter:text()
end

--- The same, run until it ends. It is the caller's to close.
function click.run(text, options)
  local r = assert(click.router(text, options))
  r:run()
  return r
end

--- The router of a configuration around the packets of a summary dump's lines with
--- these fields (where the text says SOURCE), after it has run. prepare(router), if
--- given, is called before.
function click.run_dump(fields, lines, text, prepare)
  local name = os.tmpname()
  local file = assert(io.open(name, "w"))
  file:write("!data ", fields, "\n", table.concat(lines, "\n"), "\n")
  file:close()
  local r = assert(click.router((text:gsub("SOURCE",
    ("FromIPSummaryDump(%s, STOP true, CHECKSUM true, TIMING true) -> CheckIPHeader")
      :format(name)))))
  if prepare then prepare(r) end
  r:run()
  os.remove(name)
  return r
end

--- What the router of that configuration says is wrong with it, or nil; `pattern`: of
--- all that is said.
function click.problem(config, pattern)
  local r, text = click.router(config, {simtime = false})
  if not r then return text:match(pattern) end
  r:close()
end

return click

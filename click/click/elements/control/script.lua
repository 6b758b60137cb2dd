-- SPDX-License-Identifier: Apache-2.0
-- Script runs instructions: at once, on demand, for each packet, or for a signal.
-- DriverManager is one that decides when the router stops.

local element = require("click.element")
local errors = require("click.errors")
local functions = require("click.script.functions")
local hookup = require("click.router.hookup")
local machine = require("click.script.machine")
local numbers = require("click.script.numbers")
local program = require("click.script.program")
local signals = require("click.script.signals")
local text = require("click.language.text")

local Script = element.define{
  name = "Script", summary = "runs instructions on the router's handlers",
  division = "whole",
  ports = "-/-", processing = "ah/ah", exclusive = true,
}

--- Why there can't be one beside `n` copies of the router: it would be in the packets'
--- way.
function Script.divided(e)
  if e.ninputs + e.noutputs > 0 then return "it runs for each packet, in one row" end
end

-- Configuring -----------------------------------------------------------------------

local TYPES = {ACTIVE = "active", PASSIVE = "passive", PACKET = "packet",
  PUSH = "packet", PROXY = "proxy", DRIVER = "driver"}

-- The text behind TYPE, and the other arguments.
local function split_type(list)
  local kind, others = nil, {}
  for _, argument in ipairs(list) do
    local word, rest = text.first_word(argument)
    if word == "TYPE" and rest ~= "" then
      kind = rest
    else
      others[#others + 1] = argument
    end
  end
  return kind, others
end

-- The numbers of the signals that `names` are, or nil.
local function signal_numbers(names)
  local list = {}
  for i, name in ipairs(names) do
    list[i] = signals.number(name)
    if not list[i] then return nil end
  end
  return #list > 0 and list or nil
end

-- Set kind and signals; what is wrong, if anything.
local function set_kind(self, type_text)
  local has_ports = self.ninputs > 0 or self.noutputs > 0
  local words = text.words(type_text or "")
  if words[1] == "SIGNAL" then
    table.remove(words, 1)
    self.kind, self.signals = "signal", signal_numbers(words)
    if not self.signals then return "bad signal number" end
  elseif type_text then
    self.kind = #words == 1 and TYPES[words[1]]
    if not self.kind then return "bad TYPE" end
  else
    self.kind = self.class.kind or (has_ports and "packet" or "active")
  end
  if self.kind == "packet" and self.ninputs == 0 then
    return "PACKET script must have inputs"
  elseif self.kind ~= "packet" and has_ports then
    return "ports allowed only on PACKET scripts"
  end
end

local function take_driver(self)
  if self.router.manager then return "router has more than one driver script" end
  self.router.manager = self
end

-- Read handlers for exported variables.
local function add_exports(self)
  for _, instruction in ipairs(self.instructions) do
    if instruction.op == "export" then
      local name = instruction.variable
      self:add_handler(name, {read = function () return self.variables[name] or "" end})
    end
  end
end

function Script:configure_raw(list)
  local type_text, others = split_type(list)
  local problem = set_kind(self, type_text)
    or self.kind == "driver" and take_driver(self)
  if problem then return self:error("%s", problem) end
  self.instructions = program.parse(others, self.kind == "driver",
    function (message) self:error("%s", message) end)
  self.position, self.steps, self.status = 1, 0, 0
  self.variables, self.arguments, self.handler_name = {}, "", ""
  self.writing = false
  add_exports(self)
end

-- Running ---------------------------------------------------------------------------

local function heading(self, reporter)
  return reporter:context("While executing '%s':", hookup.declaration(self))
end

-- Ask for the signals again, once the script has come to its end.
local function take_signals(self)
  for _, number in ipairs(self.signals) do
    signals.take(number, self.on_signal)
  end
end

local STATUS = {error = -1, stop = 1}

-- What comes of a run: its status, and the value returned.
local function finish(self)
  local ended = machine.ended(self)
  if self.kind == "signal" and ended == "end" then take_signals(self) end
  local value = ended == "return" and self.variables._
    or ended == "end" and self.kind == "packet" and "0" or ""
  return STATUS[ended] or 0, value
end

local function on_timer(self)
  machine.step(self, 1, {reporter = heading(self, errors.to_stderr())})
  finish(self)
end

function Script:initialize()
  self.timer = self.router:timer(function () on_timer(self) end)
  local reporter = errors.to_stderr():at(self.landmark):context(
    "While initializing '%s':", hookup.declaration(self))
  machine.set_initial(self, reporter)
  local first = self.instructions[1]
  if self.kind == "signal" then
    self.on_signal = function () self:call("run", "", errors.to_stderr(), true) end
    self.router:poll_often(signals, signals.poll)
    take_signals(self)
  elseif self.kind == "active" or self.kind == "driver" then
    if first.op == "wait_time" then
      machine.step(self, 0, {reporter = reporter})
    elseif first.op == "initial" then
      first.pending = true
      if self.kind == "driver" then
        self.router:adjust_runcount(-1)
      else
        self.timer:after(0)
      end
    end
  end
end

function Script:cleanup()
  if self.timer then self.timer:unschedule() end
  for _, number in ipairs(self.on_signal and self.signals or {}) do
    signals.forget(number, self.on_signal)
  end
end

--- The router is to stop: take a step. Returns false when the script has ended.
function Script:stopped()
  machine.step(self, 1, {by_router = true, reporter = errors.to_stderr()})
  return (finish(self)) == 0
end

function Script:process(p, i)
  self.variables.input = tostring(i - 1)
  machine.rewind(self)
  machine.step(self, 0, {reporter = heading(self, errors.to_stderr())})
  local _, value = finish(self)
  local port = numbers.small(value, 0, self.noutputs - 1)
  if not port then return nil end
  return p, port + 1
end

-- Handlers --------------------------------------------------------------------------

local STARTS = {} -- what the handlers do first: the steps to take, or nil and a message

function STARTS.step(_, s)
  if s == "" or s == "router" then return 1 end
  local n = numbers.small(s, 0, 2 ^ 31 - 1)
  return n, not n and "syntax error" or nil
end

STARTS["goto"] = function (self, s)
  if not machine.rewind(self, s) then return nil, "jump to nonexistent label" end
  return 0
end

STARTS.gotoa = STARTS["goto"]

function STARTS.run(self)
  machine.rewind(self)
  return 0
end

--- Call the script by the handler `name` ("step", "goto", "run", or what it is a proxy
--- for). Returns the status, the value, and what is wrong.
function Script:call(name, s, reporter, writing)
  self.handler_name, self.writing = name, writing
  local start = STARTS[name] or STARTS.run
  if start == STARTS.run then self.arguments = s end
  local n, problem = start(self, text.uncomment(s))
  if not n then return nil, nil, problem end
  local options = {reporter = reporter, adds = name == "step",
    by_router = name == "step" and text.uncomment(s) == "router"}
  machine.step(self, n, options)
  local status, value = finish(self)
  self.handler_name, self.writing = "", false
  if status ~= 0 then self.arguments = "" end
  return status, value
end

local function writer(name)
  return function (self, s, reporter)
    local status, _, problem = self:call(name, s, reporter, true)
    return status or problem
  end
end

local function reader(name)
  return function (self, s, reporter)
    local _, value, problem = self:call(name, s, reporter, false)
    return value, problem
  end
end

Script.handlers = {
  step = {write = writer("step")}, ["goto"] = {write = writer("goto")},
  gotoa = {write = writer("gotoa")},
  run = {read = reader("run"), write = writer("run"), param = true},
}
for name, handler in pairs(functions) do Script.handlers[name] = handler end

--- Proxies have handlers of any name.
function Script:find_handler(name)
  if self.kind ~= "proxy" then return nil end
  return {read = reader(name), write = writer(name), param = true}
end

local DriverManager = element.define{
  name = "DriverManager", summary = "a Script that decides when the router stops",
  extends = Script, kind = "driver",
}

return {Script, DriverManager}

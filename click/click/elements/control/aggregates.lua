-- SPDX-License-Identifier: Apache-2.0
-- HandlerAggregate adds up what handlers of several elements say. PokeHandlers is
-- Click's older form of Script, and BlockThread lets nothing happen for a time.

local C = require("core.native")
local calls = require("click.script.calls")
local element = require("click.element")
local errors = require("click.errors")
local numbers = require("click.script.numbers")
local seconds = require("click.arguments.numbers").seconds
local text = require("click.language.text")
local Script = require("click.elements.control.script")[1]

-- HandlerAggregate ------------------------------------------------------------------

local HandlerAggregate = element.define{
  name = "HandlerAggregate", summary = "adds up handlers of several elements",
  ports = "0/0",
}

function HandlerAggregate:configure_raw(list)
  self.names = {}
  for _, argument in ipairs(list) do
    local word, rest = text.first_word(argument)
    if word ~= "ELEMENT" then
      if rest ~= "" then return self:error("%s: unknown argument", word) end
      rest = word
    end
    table.insert(self.names, text.unquote(rest))
  end
end

function HandlerAggregate:initialize()
  self.elements = {}
  for i, name in ipairs(self.names) do
    self.elements[i] = self.router:find(name, self)
    if not self.elements[i] then
      return self:error("ELEMENT: does not name an element")
    end
  end
end

-- Call f(call) with each element's call of the handler that `s` names.
local function each(self, s, kind, f)
  for _, its in ipairs(self.elements) do
    local call, problem = calls.parse(s, its, kind)
    if not call then return problem end
    f(call)
  end
end

-- The sum of the numbers that the elements' handlers give; or nil and a message.
local function sum(self, s, reporter)
  local total = 0
  local problem = each(self, s, "read", function (call)
    local value = calls.read(call, reporter) or ""
    total = total + (tonumber(value:match("^%s*[-+%d.eE]+")) or 0)
  end)
  if problem then return nil, problem end
  return total
end

HandlerAggregate.handlers = {
  add = {param = true, read = function (self, s, reporter)
    local total, problem = sum(self, s, reporter or errors.to_stderr())
    return total and numbers.text(total), problem
  end},
  avg = {param = true, read = function (self, s, reporter)
    local total, problem = sum(self, s, reporter or errors.to_stderr())
    return total and numbers.text(total / #self.elements), problem
  end},
  write = {write = function (self, s, reporter)
    return each(self, s, "write", function (call)
      calls.write(call, reporter or errors.to_stderr())
    end)
  end},
}

-- PokeHandlers ----------------------------------------------------------------------

local PokeHandlers = element.define{
  name = "PokeHandlers", summary = "calls handlers at set times",
  ports = "0/0", extends = Script,
}

local WORDS = {quit = "stop", delay = "wait"}

function PokeHandlers:configure_raw(list)
  local script = {}
  for i, argument in ipairs(list) do
    local word, rest = text.first_word(argument)
    script[i] = WORDS[word] and (WORDS[word] .. " " .. rest) or argument
    if numbers.double(word) and rest == "" then script[i] = "wait " .. word end
  end
  return Script.configure_raw(self, script)
end

-- BlockThread -----------------------------------------------------------------------

local LONGEST = 1 -- second: else the engine would take it to be stuck

local BlockThread = element.define{
  name = "BlockThread", summary = "lets nothing happen for a time", ports = "0/0",
  handlers = {block = {private = true, write = function (_, s)
    local time = seconds(text.uncomment(s), {})
    if not time then return "bad TIME" end
    C.pg_sleep(math.min(time, LONGEST))
  end}},
}

return {HandlerAggregate, PokeHandlers, BlockThread}

-- SPDX-License-Identifier: Apache-2.0
-- What scripts can calculate: each is a read handler of every Script.
--
--     print $(add 1 2), print $(if $(gt $x 3) large small)

local calls = require("click.script.calls")
local filename = require("click.arguments.words").filename
local files = require("core.lib.files")
local numbers = require("click.script.numbers")
local signals = require("click.script.signals")
local text = require("click.language.text")
local trust = require("click.script.trust")

local functions = {}

for name, f in pairs(require("click.script.arithmetic")) do
  functions[name] = {read = function (_, s) return f(s) end, param = true}
end

local function define(name, f) functions[name] = {read = f, param = true} end

local SYNTAX = "syntax error"

define("sprintf", function (_, s) return require("click.script.sprintf")(s) end)

-- Truth ------------------------------------------------------------------------------

define("not", function (_, s)
  local x = numbers.bool(text.uncomment(s))
  if x == nil then return nil, SYNTAX end
  return tostring(not x)
end)

-- Whether the words of `s` are all `start`, looking no further than needed.
local function all_are(start, s)
  for _, word in ipairs(text.words(s)) do
    local x = numbers.bool(word)
    if x == nil then return nil end
    if x ~= start then return false end
  end
  return true
end

local function junction(start, inverted)
  return function (_, s)
    local same = all_are(start, s)
    if same == nil then return nil, SYNTAX end
    local value = same == start
    return tostring(value ~= inverted)
  end
end

define("and", junction(true, false))
define("nand", junction(true, true))
define("or", junction(false, false))
define("nor", junction(false, true))

define("if", function (_, s)
  local words = text.words(s)
  local x = numbers.bool(words[1] or "")
  if x == nil then return nil, SYNTAX end
  return words[x and 2 or 3] or ""
end)

define("in", function (_, s)
  local words = text.words(s)
  local wanted = text.unquote(words[1] or "")
  for i = 2, #words do
    if text.unquote(words[i]) == wanted then return "true" end
  end
  return "false"
end)

-- Text -------------------------------------------------------------------------------

define("first", function (_, s) return (text.first_word(s)) end)
define("length", function (_, s) return tostring(#s) end)
define("unquote", function (_, s) return text.unquote(s) end)

-- The router -------------------------------------------------------------------------

define("now", function (self) return ("%.9f"):format(self.router:now()) end)
define("now_steady", function (self) return ("%.9f"):format(self.router:steady()) end)

local function usable(kind)
  return function (self, s)
    for _, word in ipairs(text.words(s)) do
      if not calls.parse(word, self, kind) then return "false" end
    end
    return "true"
  end
end

define("readable", usable("read"))
define("writable", usable("write"))

-- Chance -----------------------------------------------------------------------------

local MOST = 2147483647

define("random", function (_, s)
  local words = text.words(s)
  if #words == 0 then return tostring(math.random(0, MOST)) end
  local a = numbers.small(words[1], 0, 2 ^ 32 - 1)
  local b = words[2] and numbers.small(words[2], 0, 2 ^ 32 - 1)
  if not a or words[2] and not b or #words > 2 then return nil, SYNTAX end
  if b and b < a or not b and a == 0 then return nil, "bad N" end
  local low, high = b and a or 0, b or a - 1
  return ("%.0f"):format(low + math.floor(math.random() * (high - low + 1)))
end)

-- Files and processes: not for those who come over the network -----------------------

local function private(name, f)
  functions[name] = {read = f, param = true, private = true, hidden = true}
end

local function content(self, s)
  local path = filename(text.uncomment(s))
  if not path then return nil, "bad FILE" end
  local file, problem = trust.open(self.router, path, "rb")
  if not file then return nil, problem end
  return files.all_of(file, path)
end

private("cat", function (self, s) return content(self, s) end)

private("catq", function (self, s)
  local data, problem = content(self, s)
  return data and text.quote(data), problem
end)

private("kill", function (self, s)
  if trust.is_limited(self.router) then
    return nil, "no signals from a router that others may connect to"
  end
  local words = text.words(s)
  local number = signals.number(words[1] or "")
  if not number then return nil, "bad SIGNO" end
  for i = 2, #words do
    local process = numbers.small(words[i], -2 ^ 31, 2 ^ 31 - 1)
    if not process then return nil, "bad PID" end
    local problem = signals.send(process, number)
    if problem then
      return nil, ("kill(%d, %d): %s"):format(process, number,
        require("posix.errno").errno(problem))
    end
  end
  return ""
end)

-- Variables --------------------------------------------------------------------------

-- The script's variable of that name, or nil and a message.
local function lookup(self, name, rest)
  if name == "" then return nil, "no variable" end
  if rest ~= "" then return nil, "too many arguments" end
  local value = name == "args" and self.arguments or self.variables[name]
  if not value then return nil, ("undefined variable '%s'"):format(name) end
  return value
end

local function assign(self, name, value)
  if name == "args" then self.arguments = value else self.variables[name] = value end
end

define("get", function (self, s) return lookup(self, text.first_word(s)) end)

functions.set = {write = function (self, s)
  local name, value = text.first_word(s)
  if name == "" then return "no variable" end
  assign(self, name, value)
end}

define("shift", function (self, s)
  local name, rest = text.first_word(s)
  if name == "" then name = "args" end
  local value, problem = lookup(self, name, rest)
  if not value then return nil, problem end
  local word, remaining = text.first_word(value)
  assign(self, name, remaining)
  return word
end)

return functions

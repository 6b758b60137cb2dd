-- SPDX-License-Identifier: Apache-2.0
-- argparse as libmoon has it, made of Debian's: parsers know the script's arguments,
-- options may join their words, and errors are Perigee's sentences.

local failure = require("core.failure")

local place = assert(package.searchpath("argparse",
  (package.path:gsub("[^;]*/moongen/modules/[^;]*;", ""))))
local argparse = assert(loadfile(place))()

-- The classes of parsers, options and arguments, from examples.
local example = argparse("example")
local Parser = getmetatable(example)
local Option = getmetatable(example:option("-o"))
local Argument = getmetatable(example:argument("a"))

-- combine(): the words are one text. -------------------------------------------------

local function join(words)
  return type(words) == "table" and table.concat(words, " ") or words
end

local function combine(element, on)
  element.combines = on ~= false
  return element
end

local function find_class(class)
  return class.__index and type(class.__index) == "table" and class.__index or class
end

find_class(Option).combine = combine
find_class(Argument).combine = combine

local function target_of(element)
  return element._target or element:_get_default_target()
end

local function join_words(parser, result)
  for _, list in ipairs{parser._options, parser._arguments} do
    for _, element in ipairs(list) do
      local target = element.combines and target_of(element)
      if target and result[target] ~= nil then
        result[target] = join(result[target])
        if result[target] == "" then result[target] = nil end
      end
    end
  end
  for _, command in ipairs(parser._commands) do
    join_words(command, result)
  end
  return result
end

-- parse(): of the script's arguments, unless others are given. ------------------------

local function words_of(...)
  local first = ...
  if type(first) == "table" then return first end
  if first == nil then return nil end
  local words = {}
  for i = 1, select("#", ...) do words[i] = tostring((select(i, ...))) end
  return words
end

local class = find_class(Parser)
local parse, pparse = class.parse, class.pparse

--- The arguments that parse() is of, if it is given none.
function class:args(...)
  self.script_arguments = words_of(...) or {}
  return self
end

function class:parse(...)
  local words = words_of(...) or self.script_arguments
  return join_words(self, parse(self, words))
end

function class:pparse(...)
  local ok, result = pparse(self, words_of(...) or self.script_arguments)
  if ok then join_words(self, result) end
  return ok, result
end

--- Has the script told it of anything?
function class:is_used()
  return #self._arguments > 0 or #self._options > 1 or #self._commands > 0
end

function class:error(message)
  io.stdout:flush()
  failure.usage("%s\n\nError: %s", self:get_usage(), message)
end

--- A parser; `-h` and `--help` show its help and end the script.
return function (...)
  local libmoon = require("moongen.tasks.libmoon")
  local parser = argparse(...)
  if select("#", ...) == 0 then
    local config = libmoon.config
    parser:name(("%s %s"):format(config.appName, config.userscript or ""))
  end
  return parser
end

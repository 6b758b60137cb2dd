-- SPDX-License-Identifier: Apache-2.0
-- The arguments of elements: positions, keywords, types, and Click's words for what is
-- wrong with them. An element class lists what it takes:
--
--     arguments = {
--       {"LENGTH", "unsigned", required = true},        -- in this order, or LENGTH 4
--       {"ACTIVE", "bool", default = true, keyword = true},          -- ACTIVE false
--     }
--
-- An argument that begins with a word and has more behind it may be a keyword's.
-- Types, with what else a specification may have (see arguments/*.lua):
--
--     int, unsigned, count, real (min, max), rate     numbers
--     seconds (= interval), bandwidth                 seconds; bytes a second
--     bool
--     string, word, data, filename; argument          unquoted; as written
--     ip                                              a number in host order
--     ip_prefix (bare)                                {address=, mask=, length=}
--     ip6, eth                                        16 and 6 bytes
--     ip6_prefix (bare)                               {address=, length=}
--     ip_port (protocol)                              a number
--     element (class)                                 an element
--     anno (size)                                     an offset, and NAME_LENGTH
--
-- With `list = true`, the argument is several of them at spaces, and its value a list;
-- with `each = true`, too, a keyword that is there several times adds to the list, and
-- so do all arguments by position, if it isn't by keyword alone.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local addresses = require("click.arguments.addresses")
local names = require("click.names")
local note = require("click.note")
local numbers = require("click.arguments.numbers")
local words = require("click.arguments.words")
local text_of = require("click.language.text")

local arguments = {types = {}}

--- The parsers by the names of types: parser(text, spec, element) returns the value; or
--- nil and what is wrong. A third result is a length. Modules of elements may add some.
local types = arguments.types
for _, family in ipairs{numbers, addresses, words} do
  for name, parser in pairs(family) do types[name] = parser end
end
types.interval = types.seconds
types.double = types.real

--- The first byte of an annotation, from 0 on, and its length (nil if it isn't known):
--- 17, or PAINT, or a name that the configuration has defined. `spec.size`: this many
--- bytes from there on.
function types.anno(text, spec, element)
  local offset, length = note.find(text)
  local own = names.find("annotation", element, text)
  if own then offset, length = own[1], own[2] end
  offset = offset or numbers.count(text, {})
  if not offset then return nil end
  if spec.size and length and length ~= spec.size then return nil end
  if offset + (spec.size or 1) > note.BYTES then return nil end
  return offset, nil, spec.size or length
end

-- One value ------------------------------------------------------------------------

local function parse_list(parser, text, spec, element)
  local list = {}
  for i, word in ipairs(text_of.words(text)) do
    local value, problem = parser(word, spec, element)
    if value == nil then return nil, problem end
    list[i] = value
  end
  return list
end

--- The value of `text` as an argument of `spec` ({"NAME", "type", ...}), or nil and
--- what is wrong.
function arguments.value(text, spec, element)
  local parser = types[spec[2]] or error("no type of arguments: " .. tostring(spec[2]))
  local value, problem, length
  if spec.list then
    value, problem = parse_list(parser, text, spec, element)
  else
    value, problem, length = parser(text, spec, element)
  end
  if value == nil then return nil, problem or "parse error" end
  return value, nil, length
end

-- A reader takes arguments one after the other -------------------------------------

local Reader = {}
Reader.__index = Reader

--- A reader of `texts`, a list of arguments, for `element`, whose error() is told what
--- is wrong (a reporter of click.errors will do as well).
function arguments.reader(texts, element)
  local reader = {texts = {}, keywords = {}, taken = {}, element = element, ok = true}
  for i, text in ipairs(texts) do
    reader.texts[i] = text
    reader.keywords[i] = text:match("^([%a_][%w_:.?!]*)%s+%S") or false
  end
  return setmetatable(reader, Reader)
end

function Reader:fail(name, problem)
  self.ok = false
  self.element:error("%s: %s", name, problem)
end

-- The index of the argument that has the keyword `name`: the last one counts, or the
-- `first`.
local function take_keyword(self, name, first)
  local found
  for i = 1, #self.texts do
    if self.keywords[i] == name and not self.taken[i]
      and not (first and found) then
      found, self.taken[i] = i, "keyword"
    end
  end
  return found
end

-- The index of the next argument by position, if there is one: it has no keyword, or
-- `any` and is not taken.
local function take_position(self, any)
  local i = 1
  while self.taken[i] == "position" do i = i + 1 end
  if self.texts[i] and not self.taken[i] and (any or not self.keywords[i]) then
    self.taken[i] = "position"
    return i
  end
end

-- The texts of all arguments that have the keyword, with spaces between; nil: none.
-- `bare`: those without a keyword, too, in front.
local function take_each(self, name, bare)
  local list = {}
  for i, text in ipairs(self.texts) do
    if bare and not self.taken[i] and not self.keywords[i] then
      list[#list + 1], self.taken[i] = text, "position"
    end
  end
  repeat
    local i = take_keyword(self, name, true)
    list[#list + 1] = i and self.texts[i]:match("^%S+%s+(.*)$")
  until not i
  return list[1] and table.concat(list, " ")
end

--- The text of the argument of `spec`, or nil if there is none.
function Reader:text(spec)
  local name = spec[1]
  if spec.each then return take_each(self, name, not spec.keyword) end
  local by_keyword = take_keyword(self, name, spec.first)
  local by_position = not spec.keyword
    and take_position(self, spec.required and not by_keyword)
  -- Of two, the one that was written last.
  if by_position and (not by_keyword or by_position > by_keyword) then
    return self.texts[by_position]
  end
  return by_keyword and self.texts[by_keyword]:match("^%S+%s+(.*)$")
end

--- The value of the argument of `spec`; its default if it isn't there or is wrong. The
--- second result is what was given: nil if nothing was.
function Reader:read(spec)
  local text = self:text(spec)
  if not text then
    if spec.required then self:fail(spec[1], "required argument missing") end
    return spec.default
  end
  local value, problem, length = arguments.value(text, spec, self.element)
  if problem then
    self:fail(spec[1], problem)
    return spec.default
  end
  return value, text, length
end

--- The arguments that nothing has taken, a list; they count as taken then.
function Reader:rest()
  local list = {}
  for i, text in ipairs(self.texts) do
    if not self.taken[i] then list[#list + 1], self.taken[i] = text, "rest" end
  end
  return list
end

--- Report the arguments that nothing has taken. Was all right?
function Reader:complete()
  local too_many = false
  for i = 1, #self.texts do
    if not self.taken[i] and self.keywords[i] then
      self:fail(self.keywords[i], "unknown argument")
    end
    too_many = too_many or not self.taken[i] and not self.keywords[i]
  end
  if too_many then
    self.ok = false
    self.element:error("too many arguments")
  end
  return self.ok
end

-- All of them ----------------------------------------------------------------------

--- The values of `texts`, the arguments as a list or the configuration string, by name,
--- as `specs` says; nil if something is wrong, which `element` has been told then.
function arguments.parse(specs, texts, element)
  if type(texts) == "string" then texts = text_of.arguments(texts) end
  local reader, values = arguments.reader(texts, element), {}
  for _, spec in ipairs(specs) do
    local value, _, length = reader:read(spec)
    values[spec[1]] = value
    if length then values[spec[1] .. "_LENGTH"] = length end
  end
  return reader:complete() and values or nil
end

return arguments

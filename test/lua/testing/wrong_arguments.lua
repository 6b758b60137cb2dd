-- SPDX-License-Identifier: Apache-2.0
-- Calls functions with wrong arguments: in each position, one after the other, values
-- of every kind that it doesn't take.

local ffi = require("ffi")

local M = {}

--- Makes what is right, by kind; specs add their own.
M.right = {
  string = function () return "/dev/null/wrong_arguments" end,
  number = function () return 1 end, amount = function () return 1 end,
  field = function () return 1 end,
  size = function () return 1 end,
  table = function () return {} end, any = function () return "int" end,
  text = function () return "5" end,
  ["function"] = function () return function () return true end end,
  ctype = function () return "int" end,
  link = function () return M.kept.link end,
  counter = function () return M.kept.counter end,
  histogram = function () return M.kept.histogram end,
  configuration = function () return {apps = {}, links = {}} end,
}

--- What `right` gives again and again.
M.kept = {}

-- Name -> value, and its kinds besides that of its type.
local VALUES = {
  {"nil", nil, {}}, {"5", 5, {size = true, text = true}}, {"-1", -1, {}},
  {"1.5", 1.5, {}}, {"NaN", 0 / 0, {}}, {"1e300", 1e300, {}},
  {"2^40", 2 ^ 40, {}}, {"''", "", {pointer = true, text = true}},
  {"'x'", "x", {pointer = true, text = true}},
  {"true", true, {field = true}}, {"{}", {}, {}}, {"print", print, {}},
  {"5ULL", 5ULL, {number = true, amount = true, size = true, ctype = true,
    field = true}},
  {"a struct", ffi.new("struct { int a; }"), {pointer = true, ctype = true,
    ip4 = true, ip6 = true, mac = true}},
  {"a thread", coroutine.create(print), {}},
}

-- LuaJIT's and Lua's own words.
local RAW = {"attempt to ", "cannot convert", "bad argument", "has no member named",
  "cannot be indexed", "expected, got", "invalid value", "invalid order function",
  "stack overflow", "not enough memory", "size of C type", "a packet has no field",
  "a link has no field"}

local function kind_list(text)
  local kinds = {}
  for name, optional in text:gmatch("(%a+%d?)(%??)") do
    kinds[#kinds + 1] = {name = name, optional = optional == "?"}
  end
  return kinds
end

-- May the value stand where `kind` is taken?
local function suits(kind, value, more)
  if value == nil then return kind.optional end
  if kind.name == "any" or more[kind.name] then return true end
  if kind.name == "number" then return type(value) == "number" and value == value end
  if kind.name == "text" then return type(value) == "number" end
  return type(value) == kind.name
end

-- Values that some functions of the kind may take; those that are called for each
-- packet don't look at an amount.
local function unsure(kind, value)
  return (kind.name == "amount" or kind.name == "field") and type(value) == "number"
    or kind.name == "size" and type(value) == "number" and value == value
    or kind.name == "number" and type(value) == "number" and value == value
end

local function check_sentence(where, ok, said)
  if ok then error(("%s was taken"):format(where), 0) end
  said = tostring(said)
  for _, words in ipairs(RAW) do
    if said:find(words, 1, true) then error(("%s: %s"):format(where, said), 0) end
  end
end

-- Numbers are also taken as text by functions that aren't called for each packet.
local NUMBERS = {number = true, amount = true, size = true}

local function check_number_as_text(where, ok, said)
  if not ok then check_sentence(where, ok, said) end
end

--- Call `f` (called `name`) with each wrong value in each place; `kinds` is what it
--- takes ("string number?"). Raises what isn't a sentence; how many were tried.
function M.try(name, f, kinds)
  kinds = kind_list(kinds)
  local tried, faults = 0, {}
  for i, kind in ipairs(kinds) do
    for _, entry in ipairs(VALUES) do
      local label, value, more = entry[1], entry[2], entry[3]
      if not suits(kind, value, more) and not unsure(kind, value) then
        local args = {}
        for k, other in ipairs(kinds) do args[k] = M.right[other.name]() end
        args[i] = value
        local where = ("%s, argument %d: %s"):format(name, i, label)
        local fine, fault = pcall(check_sentence, where,
          pcall(f, unpack(args, 1, #kinds)))
        if not fine then faults[#faults + 1] = fault end
        tried = tried + 1
      end
    end
    if NUMBERS[kind.name] then
      local args = {}
      for k, other in ipairs(kinds) do args[k] = M.right[other.name]() end
      args[i] = "4"
      local fine, fault = pcall(check_number_as_text,
        ("%s, argument %d: '4'"):format(name, i), pcall(f, unpack(args, 1, #kinds)))
      if not fine then faults[#faults + 1] = fault end
    end
  end
  if #faults > 0 then error(table.concat(faults, "\n"), 0) end
  return tried
end

return M

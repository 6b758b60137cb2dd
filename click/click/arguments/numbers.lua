-- SPDX-License-Identifier: Apache-2.0
-- Types of arguments that are numbers. Each parser gets the text of an argument and its
-- specification, and returns the value, or nil and what is wrong ("parse error", if
-- nothing is said).

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local underflows = require("lib.quantity").underflows

local numbers = {}

--- What Click says of a text that is no whole number.
numbers.INVALID = "invalid number"
local INVALID = numbers.INVALID

-- Integers -------------------------------------------------------------------------

local BASES = {
  {"^0[xX](%x[%x_]*)$", 16}, {"^0[bB]([01][01_]*)$", 2}, {"^0([0-7_]*)$", 8},
  {"^([1-9][%d_]*)$", 10},
}

-- The digits of a whole number, in its base; underscores may stand between two digits.
local function natural(text)
  if text:find("__", 1, true) or text:find("_$") then return nil end
  for _, base in ipairs(BASES) do
    local digits = text:match(base[1])
    if digits then
      digits = digits:gsub("_", "")
      local value = 0
      for digit in digits:gmatch(".") do
        value = value * base[2] + tonumber(digit, 16)
      end
      return value
    end
  end
end

local function bounded(value, spec, least, most)
  least, most = spec.min or least, spec.max or most
  local bound = value < least and least or value > most and most
  if bound then return nil, ("out of range, bound %.0f"):format(bound) end
  return value
end

--- A whole number, negative ones too: 12, -0x1F, 0b101, 017, 1_000_000. `spec.min` and
--- `spec.max` are bounds; without them, those of 32 bits.
function numbers.int(text, spec)
  local sign, digits = text:match("^([+-]?)(.+)$")
  local value = digits and natural(digits)
  if not value then return nil, INVALID end
  if sign == "-" then value = -value end
  return bounded(value, spec, -2 ^ 31, 2 ^ 31 - 1)
end

--- The same from 0 on.
function numbers.unsigned(text, spec)
  local value = natural((text:gsub("^%+", "")))
  if not value then return nil, INVALID end
  return bounded(value, spec, 0, 2 ^ 32 - 1)
end

--- A whole number from 0 to 2^53, for counts.
function numbers.count(text, spec)
  local value = natural((text:gsub("^%+", "")))
  if not value then return nil, INVALID end
  return bounded(value, spec, 0, 2 ^ 53)
end

-- Real numbers ---------------------------------------------------------------------

local function real(text)
  if text:find("^[+-]?%d[%d_]*%.?%d*[eE]?[+-]?%d*$")
    or text:find("^[+-]?%.%d+[eE]?[+-]?%d*$") then
    local value = tonumber((text:gsub("_", "")))
    return value and not underflows(text, value) and value or nil
  end
end

--- A number: 0.5, -1e6. `spec.min` and `spec.max` are bounds.
function numbers.real(text, spec)
  local value = real(text)
  if not value then return nil end
  return bounded(value, spec, -math.huge, math.huge)
end

--- How many a second, from 0 on.
function numbers.rate(text)
  local value = real(text)
  if not value or value < 0 then return nil, INVALID end
  return value
end

-- The number in front of a unit, in the unit's terms: the units are {"name", factor},
-- and each takes the `prefixes` ({k = 1000, ...}) in front. Also whether it had a unit.
local function quantity(text, units, prefixes)
  for _, unit in ipairs(units) do
    local name, factor = unit[1], unit[2]
    if text:sub(-#name) == name and #text > #name then
      local digits = text:sub(1, -#name - 1)
      local prefix = prefixes[digits:sub(-1)]
      if prefix then digits = digits:sub(1, -2) end
      local value = real((digits:gsub("%s+$", "")))
      return value and value * factor * (prefix or 1), true
    end
  end
  return real(text), false
end

-- Longer names first where one ends like another.
local SECONDS = {{"sec", 1}, {"s", 1}, {"min", 60}, {"m", 60}, {"hr", 3600},
  {"h", 3600}, {"day", 86400}, {"d", 86400}}
local SMALL = {m = 1e-3, u = 1e-6, n = 1e-9}

--- A time from 0 on, in seconds: 1, 0.5s, 10ms, 20us, 2min, 1h, 1d.
function numbers.seconds(text)
  local value = quantity(text, SECONDS, SMALL)
  return value and value >= 0 and value or nil
end

local BYTES = {{"baud", 1 / 8}, {"bps", 1 / 8}, {"b/s", 1 / 8}, {"Bps", 1}, {"B/s", 1}}
local LARGE = {k = 1e3, K = 1e3, M = 1e6, G = 1e9}

--- A rate as Click has it, whole; but what is less than 1 isn't 0, which would be none.
function numbers.whole_rate(value)
  return value >= 1 and math.floor(value + 0.5) or value
end

--- A bandwidth, in bytes a second: 10Mbps (or Mb/s), 1GBps; a plain number is bytes.
function numbers.bandwidth(text)
  local value = quantity(text, BYTES, LARGE)
  return value and value >= 0 and numbers.whole_rate(value) or nil
end

local BOOLEANS = {["0"] = false, n = false, f = false, no = false, ["false"] = false,
  ["1"] = true, y = true, t = true, yes = true, ["true"] = true}

--- true, yes, t, y or 1; false, no, f, n or 0.
function numbers.bool(text) return BOOLEANS[text] end

return numbers

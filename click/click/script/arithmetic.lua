-- SPDX-License-Identifier: Apache-2.0
-- Arithmetic of scripts: functions of a text of words, each giving text, or nil and a
-- message. They calculate with 64-bit integers, and from the first word on that isn't
-- one with doubles.

local ffi = require("ffi")
local text = require("click.language.text")
local numbers = require("click.script.numbers")

local arithmetic = {}

local int64, uint32 = ffi.typeof("int64_t"), ffi.typeof("uint32_t")
local EXPECT_LIST, EXPECT_ONE, EXPECT_TWO =
  "expected list of numbers", "expected one number", "expected two numbers"
local NO_NUMBERS = 2147483647 -- what Click gives as the average of none
local SMALL = 0.00001         -- popcount takes smaller numbers for zero

-- Folds over lists ----------------------------------------------------------------
-- step(so far, number); `start` is what nothing gives; with `counts` the first number
-- is like the others, else it is where one starts.

local function zero_or_one(condition) return condition and 1 or 0 end

local FOLDS = {
  add = {start = 0, step = function (a, b) return a + b end},
  sub = {start = 0, step = function (a, b) return a - b end},
  mul = {start = 1, step = function (a, b) return a * b end},
  div = {start = 1, doubles = true, step = function (a, b) return a / b end},
  min = {start = 1, step = function (a, b) return b < a and b or a end},
  max = {start = 1, step = function (a, b) return b > a and b or a end},
  count = {start = 0, counts = true, step = function (a) return a + 1 end},
  popcount = {start = 0, counts = true, step = function (a, b)
    return a + zero_or_one(type(b) == "cdata" and b ~= 0
      or type(b) == "number" and math.abs(b) > SMALL)
  end},
}
FOLDS.avg = {start = 1, step = FOLDS.add.step}

local function number_of(word, doubles)
  return not doubles and numbers.integer(word) or numbers.double(word)
end

-- All numbers of `list`: integers as long as there are none but integers before.
local function parse_all(list, doubles)
  local all = {}
  for i, word in ipairs(list) do
    local number = number_of(word, doubles)
    if not number then return nil end
    doubles = doubles or type(number) == "number"
    all[i] = number
  end
  return all, doubles
end

local function as_double(x) return tonumber(x) end

-- The fold of the numbers; a double or an int64_t.
local function fold(rule, all)
  local sum = int64(rule.start)
  for i, number in ipairs(all) do
    if type(number) == "number" then sum = as_double(sum) end
    if i == 1 and not rule.counts then
      sum = number
    else
      sum = rule.step(sum, number)
    end
  end
  return rule.doubles and as_double(sum) or sum
end

local function folded(rule, s)
  local list = text.words(s)
  local all, doubles = parse_all(list, rule.doubles)
  if not all then return nil, EXPECT_LIST end
  return fold(rule, all), #all, doubles
end

for name, rule in pairs(FOLDS) do
  arithmetic[name] = function (s)
    local sum, problem = folded(rule, s)
    return sum and numbers.text(sum), not sum and problem or nil
  end
end

function arithmetic.avg(s)
  local sum, n = folded(FOLDS.avg, s)
  if not sum then return nil, n end
  if n == 0 then return numbers.text(NO_NUMBERS) end
  return numbers.text(sum / n)
end

local LEAST = int64(-2) ^ 63

function arithmetic.idiv(s)
  local quotient, problem = folded(FOLDS.div, s)
  if not quotient then return nil, problem end
  if not (quotient > -2 ^ 63 and quotient < 2 ^ 63) then return numbers.text(LEAST) end
  return numbers.text(int64(quotient))
end

--- How many of the numbers behind the first are larger than it.
function arithmetic.gt_vec(s)
  local all, doubles = parse_all(text.words(s))
  if not all then return nil, EXPECT_LIST end
  local count = 0
  for i = 2, #all do
    if doubles then
      count = count + zero_or_one(math.abs(as_double(all[i])) > as_double(all[1]))
    else
      count = count + zero_or_one(all[i] > all[1])
    end
  end
  return tostring(count)
end

-- Two numbers, one number -----------------------------------------------------------

local function two_words(s)
  local list = text.words(s)
  if #list ~= 2 then return nil end
  return list[1], list[2]
end

local function remainder(s, with_doubles)
  local a, b = two_words(s)
  if not a then return nil, EXPECT_TWO end
  local x, y = numbers.integer(a), numbers.integer(b)
  if x and y then
    if y == 0 then return nil, "division by zero" end
    return numbers.text(y == -1 and int64(0) or x % y)
  end
  x, y = numbers.double(a), numbers.double(b)
  if not (with_doubles and x and y) then return nil, EXPECT_TWO end
  return numbers.text(math.fmod(x, y))
end

function arithmetic.mod(s) return remainder(s, false) end
function arithmetic.rem(s) return remainder(s, true) end

local function of_one(integer, double)
  return function (s)
    s = text.uncomment(s)
    local x = numbers.integer(s)
    if x then return numbers.text(integer(x)) end
    x = numbers.double(s)
    if not x then return nil, EXPECT_ONE end
    return numbers.text(double(x))
  end
end

local function same(x) return x end
local function negative(x) return -x end
local function rounded(x) return x < 0 and math.ceil(x - 0.5) or math.floor(x + 0.5) end

arithmetic.neg = of_one(negative, negative)
arithmetic.abs = of_one(function (x) return x < 0 and -x or x end, math.abs)
arithmetic.ceil = of_one(same, math.ceil)
arithmetic.floor = of_one(same, math.floor)
arithmetic.round = of_one(same, rounded)

-- Comparisons -----------------------------------------------------------------------

-- Two values that Lua can compare: integers, else doubles, else unquoted text.
local function comparable(a, b)
  local x, y = numbers.integer(a), numbers.integer(b)
  if x and y then return x, y end
  x, y = numbers.double(a), numbers.double(b)
  if x and y then return x, y end
  return text.unquote(a), text.unquote(b)
end

for name, holds in pairs {
  eq = function (a, b) return a == b end, ne = function (a, b) return a ~= b end,
  lt = function (a, b) return a < b end, le = function (a, b) return a <= b end,
  gt = function (a, b) return a > b end, ge = function (a, b) return a >= b end,
} do
  arithmetic[name] = function (s)
    local a, b = two_words(s)
    if not a then return nil, EXPECT_TWO end
    return tostring(holds(comparable(a, b)))
  end
end

-- Byte order ------------------------------------------------------------------------

local function swapping(swap)
  return function (s)
    local x = numbers.integer(text.uncomment(s))
    if not x then return nil, "syntax error" end
    return ("%.0f"):format(swap(tonumber(uint32(x))))
  end
end

local function swap16(x)
  x = x % 65536
  return ffi.abi("le") and x % 256 * 256 + math.floor(x / 256) or x
end

local function swap32(x)
  return ffi.abi("le") and bit.bswap(bit.tobit(x)) % 2 ^ 32 or x
end

arithmetic.htons, arithmetic.ntohs = swapping(swap16), swapping(swap16)
arithmetic.htonl, arithmetic.ntohl = swapping(swap32), swapping(swap32)

return arithmetic

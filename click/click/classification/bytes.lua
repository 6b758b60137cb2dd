-- SPDX-License-Identifier: Apache-2.0
-- The decision program of patterns of bytes: "12/0800 !14/45%f0", where 12 is an
-- offset, 0800 what is there, in hexadecimal digits ("?" for any), and f0 the bits that
-- count.

local packed = require("click.classification.packed")
local Program = require("click.classification.program")
local step = require("click.classification.step")
local tree = require("click.classification.tree")

local bytes = {}

local MOST_OFFSET = 65531 -- that leaves a word within 65,536 bytes

-- Value and mask of a byte from two digits.
local function byte_of(digits)
  local value, mask = 0, 0
  for digit in digits:gmatch(".") do
    local any = digit == "?"
    value = value * 16 + (any and 0 or tonumber(digit, 16))
    mask = mask * 16 + (any and 0 or 15)
  end
  return value, mask
end

-- The digits of value and mask, cut to what makes sense; errors are told what doesn't.
local function checked(value, mask, fail)
  if #value < 2 then
    fail("value has less than 2 hex digits")
    return "", mask and ""
  end
  if #value % 2 ~= 0 then
    fail("value has odd number of hex digits")
    value, mask = value:sub(1, -2), mask and mask:sub(1, -2)
  end
  if mask and #mask ~= #value then
    local many = #mask > #value
    fail("mask has too %s hex digits", many and "many" or "few")
    local n = math.min(#mask, #value)
    n = n - n % 2
    value, mask = value:sub(1, n), mask:sub(1, n)
  end
  return value, mask
end

-- Tests of the words that bytes from `offset` on lie in.
local function words(offset, value, mask)
  local parts, word = {}, nil
  for i = 1, #value, 2 do
    local v, m = byte_of(value:sub(i, i + 1))
    if mask then
      local bits, counts = byte_of(mask:sub(i, i + 1))
      m = step.band(m, step.band(bits, counts))
    end
    local at = offset % 4
    if not word or at == 0 then
      word = tree.test(offset - at, 0, 0)
      parts[#parts + 1] = word
    end
    local unit = 2 ^ (8 * (3 - at))
    word.value, word.mask = word.value + step.band(v, m) * unit, word.mask + m * unit
    offset = offset + 1
  end
  return tree.both(parts)
end

-- The tree of a pattern, clause by clause.
local function parse(text, fail)
  local parts, at = {}, 1
  if text == "-" then return tree.all() end
  while text:find("%S", at) do
    local bang, next_at = text:match("^%s*(!?)%s*()", at)
    local offset, slash = text:match("^(%d+)()", next_at)
    if not offset then
      fail("expected a digit")
      break
    elseif text:sub(slash, slash) ~= "/" then
      fail("expected '/'")
      break
    end
    if tonumber(offset) > MOST_OFFSET then
      fail("offset %s out of range, 0-%d", offset, MOST_OFFSET)
      break
    end
    local value, behind = text:match("^([%x?]*)()", slash + 1)
    local mask, last = text:match("^%%([%x?]*)()", behind)
    value, mask = checked(value, mask, fail)
    local node = words(tonumber(offset), value, mask)
    if not tree.is_empty(node) then
      parts[#parts + 1] = bang == "!" and tree.negated(node) or node
    end
    at = last or behind
  end
  return tree.both(parts)
end

-- "Output i of those that match pattern i; FAILURE for the rest".
local function join(nodes)
  local program = Program.new()
  for i, node in ipairs(nodes) do
    program:otherwise(Program.new(node, 1 - i, step.FAILURE))
  end
  program:set_failure(step.NEVER)
  return program
end

--- The program of `patterns`, a list of texts, one for each output, and its questions
--- (click.classification.packed). The element is told of errors.
function bytes.program(patterns, element)
  local nodes = {}
  for i, text in ipairs(patterns) do
    local function fail(format, ...)
      element:error("pattern %d: " .. format, i - 1, ...)
    end
    nodes[i] = parse(text, fail)
  end
  local program = join(nodes)
  program:optimize()
  return program, packed.questions(program)
end

return bytes

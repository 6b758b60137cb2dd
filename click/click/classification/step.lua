-- SPDX-License-Identifier: Apache-2.0
-- One step of a decision program: are the bits `mask` of the four bytes at `offset`
-- equal to `value`? step[1] is where the program goes on if so, step[0] where it goes
-- on if not. A packet that ends before the last byte of the mask takes step[1] if
-- `short` is set, else step[0].
--
-- Words are numbers from 0 to 2^32 - 1 whose highest byte is the first in the packet.
-- Jumps above 0 are numbers of steps (from 0; nothing leads to step 0), those from 0
-- down are outputs, and the three below aren't known yet or lead nowhere.

local bit = require("bit")

local step = {
  NEVER = -2147483647,   -- the packet is dropped
  FAILURE = -2147483646, -- wherever the pattern around leads what doesn't match it
  SUCCESS = -2147483645, -- and what does
}

local WIDTH = 4 -- bytes that a step looks at

--- The bits of both words.
local function band(a, b) return bit.band(a, b) % 2 ^ 32 end
step.band = band

--- Is it a single bit?
local function is_bit(word) return word ~= 0 and bit.band(word, word - 1) == 0 end
step.is_bit = is_bit

--- A step that leads to SUCCESS or FAILURE.
function step.new(offset, value, mask)
  return {
    offset = offset, value = band(value, mask), mask = mask, short = false,
    [0] = step.FAILURE, [1] = step.SUCCESS,
  }
end

--- How many bytes a packet must have for the step to look at it.
function step.needs(s)
  local mask = s.mask
  if mask == 0 then return 0 end
  if mask % 2 ^ 8 ~= 0 then return s.offset + 4 end
  if mask % 2 ^ 16 ~= 0 then return s.offset + 3 end
  return s.offset + (mask % 2 ^ 24 ~= 0 and 2 or 1)
end
local needs = step.needs

-- The step `a` went `way` (is it yes?). May it have done so since the packet is too
-- short, and would `x` then go another way than `next_way`?
local function not_by_length(a, way, x, next_way, known)
  if a.short ~= way or a.offset + WIDTH <= known then return true end
  local length = needs(a)
  return length <= known or length <= needs(x) and x.short == next_way
end

--- What a packet that went `way` (1: yes, 0: no) at the step `a` does at `x`: 1, 0, or
--- nil if that isn't certain. The packet is known to have `known` bytes at `a`.
function step.implied(a, way, x, known)
  if x.mask == 0 then return 1 end
  if way == 0 and a.mask == 0 then return 0 end
  if a.offset ~= x.offset then return nil end
  local yes = way == 1
  local both = band(a.mask, x.mask)
  if yes then
    if both ~= x.mask then return nil end
    local answer = band(a.value, both) == x.value
    return not_by_length(a, yes, x, answer, known) and (answer and 1 or 0) or nil
  end
  if a.mask == x.mask and is_bit(a.mask) and a.value ~= x.value
      and not_by_length(a, yes, x, true, known) then
    return 1
  end
  if both == a.mask and a.value == band(x.value, both)
      and not_by_length(a, yes, x, false, known) then
    return 0
  end
  return nil
end

--- Can a packet match both? With `lengths`, lengths count too.
function step.compatible(a, x, lengths)
  if a.mask == 0 or x.mask == 0 then return true end
  if a.offset ~= x.offset then return false end
  if lengths and a.short ~= x.short and needs(a) < needs(x) then return false end
  local both = band(a.mask, x.mask)
  return band(a.value, both) == band(x.value, both)
end

--- The bit in which the two differ if they, `x` reached by `a`'s no, are together one
--- step with one bit less in the mask; or nil.
function step.differing_bit(a, x)
  if a.offset == 0 or x.offset ~= a.offset or a.mask == 0 or a.mask ~= x.mask
      or a[1] ~= x[1] or x.short and not a.short then
    return nil
  end
  local difference = bit.bxor(a.value, x.value) % 2 ^ 32
  if difference ~= 0 and not is_bit(difference) then return nil end
  local general = step.new(a.offset, 0, a.mask - difference)
  if needs(general) ~= needs(a) then return nil end
  return difference
end

--- Ask for the opposite of its one bit.
function step.flip(s)
  s.value = bit.bxor(s.value, s.mask) % 2 ^ 32
  s[0], s[1] = s[1], s[0]
  s.short = not s.short
end

--- A copy, with jumps to steps `by` further down.
function step.moved(s, by)
  local function jump(to) return to > 0 and to + by or to end
  return {
    offset = s.offset, value = s.value, mask = s.mask, short = s.short,
    [0] = jump(s[0]), [1] = jump(s[1]),
  }
end

--- A jump as text: "step 3", "[0]" for an output, "[X]" for nowhere.
function step.jump_text(jump)
  if jump > 0 then return "step " .. jump end
  if jump > step.SUCCESS then return ("[%d]"):format(-jump) end
  return ("[%s]"):format(({"X", "-", "+"})[jump - step.NEVER + 1])
end

--- The step as text, with its number.
function step.text(number, s)
  return ("%2d %3d/%08x%%%08x  yes->%s  no->%s%s"):format(number, s.offset, s.value,
    s.mask, step.jump_text(s[1]), step.jump_text(s[0]),
    s.short and "  short->yes" or "")
end

return step

-- SPDX-License-Identifier: Apache-2.0
-- "[POS]", "[POS:LEN]" or "[FIRST,LAST]" in IP patterns: bytes of a header.

local fields = require("click.classification.ip.fields")
local numbers = require("click.arguments.numbers")

local brackets = {}

-- The first byte and how many, or nil.
local function range(text)
  local first, length = text:match("^(.-):(.+)$")
  if first then
    return numbers.int(first, {}), numbers.int(length, {})
  end
  local from, to = text:match("^(.-),(.+)$")
  if from then
    from, to = numbers.int(from, {}), numbers.int(to, {})
    return from, from and to and to - from + 1
  end
  return numbers.int(text, {}), 1
end

--- Parse them from the "[" at words[at] on, and set the primitive's kind. Returns the
--- number of the word to go on at.
function brackets.parse(primitive, words, at, errors)
  local last = at + 1
  while words[last] and words[last] ~= "]" do last = last + 1 end
  if not words[last] then
    errors:error("missing ']'")
    return at + 1
  end
  local first, length = range(table.concat(words, "", at + 1, last - 1))
  if not first or not length then
    errors:error("syntax error after '[', expected '[POS]' or '[POS:LEN]'")
  elseif length < 1 or length > 4 then
    errors:error("LEN in '[POS:LEN]' out of range, should be between 1 and 4")
  elseif first < 0 or first > 255 then
    errors:error("POS in '[POS:LEN]' out of range, should be between 0 and 255")
  elseif first % 4 + length > 4 then
    errors:error("field [%d:%d] does not fit in a single word", first, length)
  else
    primitive:set_kind(fields.at(primitive.transport, first * 8, length * 8), errors)
  end
  return last + 1
end

return brackets

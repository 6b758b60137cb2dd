-- SPDX-License-Identifier: Apache-2.0
-- C's printf() for scripts: sprintf "%05x" 127.

local ffi = require("ffi")
local text = require("click.language.text")
local numbers = require("click.script.numbers")

ffi.cdef [[
  int perigee_click_snprintf(char *to, size_t size, const char *format, ...)
    __asm__("snprintf");
]]

local WIDEST = 4096 -- characters of one item
local PROBLEM = "syntax error"

local buffer = ffi.new("char[?]", WIDEST + 64)

-- The next word of state.rest; "" if there is none.
local function next_word(state)
  local word
  word, state.rest = text.first_word(state.rest)
  return word
end

-- A width or precision: digits, or `*` and a word. (C would look for the word of `*5`
-- behind its arguments.)
local function length(state, digits)
  if digits:find("^%*%d") then return nil end
  if digits ~= "*" then return tonumber(digits) or 0, digits end
  local n = numbers.small(next_word(state), -WIDEST, WIDEST)
  return n, n and tostring(n)
end

local UNSIGNED = {[""] = "uint64_t", l = "uint64_t", q = "uint64_t", h = "uint16_t"}
local SIGNED = {[""] = "int64_t", l = "int64_t", q = "int64_t", h = "int16_t"}

local function convert(format, value)
  local n = ffi.C.perigee_click_snprintf(buffer, WIDEST + 64, format, value)
  return ffi.string(buffer, math.min(n, WIDEST + 63))
end

-- The integer that the next word is, as wide as `size` says.
local function integer(state, types, size)
  local parse = types == SIGNED and numbers.integer or numbers.unsigned
  local value = parse(next_word(state))
  if not value then return nil end
  local narrow = types[size:find("h") and "h" or ""]
  return ffi.cast(types == SIGNED and "int64_t" or "uint64_t", ffi.cast(narrow, value))
end

local function as_string(state, flags)
  local word = next_word(state)
  if word == "" then return nil end
  return convert(flags .. "s", text.unquote(word))
end

-- One item: its flags, width, precision, size and letter.
local function item(state, flags, width, precision, size, letter)
  local wide, width_text = length(state, width)
  local long, precision_text = length(state, precision:sub(2))
  if not wide or not long or math.max(wide, long) > WIDEST or long < 0 then
    return nil
  end
  local format = "%" .. flags .. width_text
    .. (precision_text ~= "" and "." .. precision_text or "")
  if letter == "%" then return "%" end
  if letter == "s" then return as_string(state, format) end
  local types = letter:find("[di]") and SIGNED or letter:find("[oxXu]") and UNSIGNED
  local value = types and integer(state, types, size)
  return value and convert(format .. "ll" .. letter, value)
end

local ITEM = "^%%([0#%- +]*)(%*?%d*)(%.?%*?%d*)([hlLq]*)(.)()"

--- The text that `s` gives, whose first word is the format; or nil and a message.
return function (s)
  local format, rest = text.first_word(s)
  format = text.unquote(format)
  local state, parts, i = {rest = rest}, {}, 1
  while i <= #format do
    local percent = format:find("%", i, true) or #format + 1
    parts[#parts + 1] = format:sub(i, percent - 1)
    i = percent
    if i <= #format then
      local flags, width, precision, size, letter, behind = format:match(ITEM, i)
      local made = flags and item(state, flags, width, precision, size, letter)
      if not made then return nil, PROBLEM end
      parts[#parts + 1], i = made, behind
    end
  end
  if state.rest ~= "" then return nil, PROBLEM end
  return table.concat(parts)
end

-- SPDX-License-Identifier: Apache-2.0
-- Numbers as Click's scripts have them: 64-bit integers with Click's prefixes, doubles
-- in at most 12 digits, and truth values.

local ffi = require("ffi")

ffi.cdef [[
  double perigee_click_strtod(const char *text, char **end) __asm__("strtod");
]]

local underflows = require("lib.quantity").underflows

local numbers = {}

local BITS63 = 9223372036854775808ULL

-- The digits' base and the place of the first one in `text` from `i` on.
local function base_of(text, i)
  local prefix = text:sub(i, i + 1):lower()
  if #text > i + 1 then
    if prefix == "0x" then return 16, i + 2 end
    if prefix == "0b" then return 2, i + 2 end
  end
  return text:byte(i) == 48 and 8 or 10, i
end

-- The digits of `text` from `i` on as an uint64_t; nil if there is anything else (but
-- for a single `_` between two digits), or if they need more than 64 bits.
local function digits(text, i)
  local base, first = base_of(text, i)
  local value, most = 0ULL, 0xffffffffffffffffULL / base
  local last_was_digit = false
  for at = first, #text do
    local digit = tonumber(text:sub(at, at), base)
    if digit then
      local next_value = value * base + digit
      if value > most or next_value < value * base then return nil end
      value, last_was_digit = next_value, true
    elseif last_was_digit and text:byte(at) == 95 and at < #text then
      last_was_digit = false
    else
      return nil
    end
  end
  if not last_was_digit then return nil end
  return value
end

--- The integer `text` ("-10", "0x1F", "0b11", "017", "1_000") as an int64_t, or nil.
function numbers.integer(text)
  local sign = text:match("^[-+]")
  local value = digits(text, sign and 2 or 1)
  if not value or value > BITS63 or value == BITS63 and sign ~= "-" then return nil end
  return sign == "-" and -ffi.cast("int64_t", value) or ffi.cast("int64_t", value)
end

--- The same as an uint64_t; a minus sign isn't taken.
function numbers.unsigned(text)
  return digits(text, text:sub(1, 1) == "+" and 2 or 1)
end

--- The integer `text` as a Lua number from `low` to `high`, or nil.
function numbers.small(text, low, high)
  local value = numbers.integer(text)
  if value and value >= low and value <= high then return tonumber(value) end
end

local stop = ffi.new("char *[1]")

--- What C's strtod() takes as a whole, as a number; nil for other text, and for what a
--- double can't hold.
function numbers.double(text)
  if text == "" or text:find("^%s") or text:find("\0", 1, true) then return nil end
  local start = ffi.cast("const char *", text)
  local value = ffi.C.perigee_click_strtod(start, stop)
  if stop[0] - start ~= #text then return nil end
  local is_finite = value - value == 0
  if not is_finite and not text:lower():find("[in]") then return nil end
  if underflows(text, value) then return nil end
  return value
end

local TRUTH = {
  ["1"] = true, y = true, t = true, yes = true, ["true"] = true,
  ["0"] = false, n = false, f = false, no = false, ["false"] = false,
}

--- The truth value `text`, or nil.
function numbers.bool(text) return TRUTH[text] end

--- A number, an int64_t or an uint64_t as text.
function numbers.text(value)
  if type(value) == "cdata" then return (tostring(value):gsub("U?LL$", "")) end
  return ("%.12g"):format(value)
end

return numbers

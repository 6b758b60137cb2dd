-- SPDX-License-Identifier: Apache-2.0
-- LuaJIT's error where a value of the wrong kind is written to a C field, such as a
-- packet's length. Its sentence is made clear where errors are shown, since a test at
-- the field itself would cost each packet.

local ffi = require("ffi")

local conversion = {}

local BYTE = "a number from 0 to 255"

local NUMBERS = {
  ["unsigned char"] = BYTE, uint8_t = BYTE,
  -- A byte on arm64, where LuaJIT calls uint8_t so; signed on x86-64.
  char = tonumber(ffi.cast("char", -1)) > 0 and BYTE or "a number",
  ["unsigned short"] = "a number from 0 to 65535",
  uint16_t = "a number from 0 to 65535",
  ["unsigned int"] = "a number from 0 to 4294967295",
  uint32_t = "a number from 0 to 4294967295",
  uint64_t = "a number of 64 bits", int64_t = "a number of 64 bits",
  int = "a number", int32_t = "a number", short = "a number", int16_t = "a number",
  ["signed char"] = "a number", int8_t = "a number", double = "a number",
  float = "a number",
}
local KINDS = {string = "a string", table = "a table", ["function"] = "a function",
  boolean = "a boolean", ["nil"] = "nil", userdata = "a userdata", thread = "a thread"}

--- The text of an error with that sentence in plain words; others as they are.
function conversion.explained(text)
  return (text:gsub("cannot convert '([^'\n]+)' to '([^'\n]+)'", function (from, to)
    if NUMBERS[to] and KINDS[from] then
      return ("a field or argument of C takes %s, not %s"):format(NUMBERS[to],
        KINDS[from])
    end
  end))
end

return conversion

-- SPDX-License-Identifier: Apache-2.0
-- LuaJIT's own errors, whose sentences are made clear where errors are shown: a value
-- of the wrong kind for a C field, such as a packet's length (a test at the field
-- itself would cost each packet); a module that isn't found; a binary that is older
-- than its Lua files.

local ffi = require("ffi")

local luajit_errors = {}

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

local function without_conversion(text)
  return (text:gsub("cannot convert '([^'\n]+)' to '([^'\n]+)'", function (from, to)
    if NUMBERS[to] and KINDS[from] then
      return ("a field or argument of C takes %s, not %s"):format(NUMBERS[to],
        KINDS[from])
    end
  end))
end

-- Without the list of all places that were looked at.
local function without_places(text, places)
  text = text:gsub("\n\tno field package%.[^\n]*", "")
    :gsub("\n\tno file '[^\n]*", "")
  return (text:gsub("module '([^'\n]+)' not found:", function (name)
    return ("there is no module '%s'%s"):format(name, places)
  end))
end

--- The text of an error with such sentences in plain words; others as they are.
--- `places` follows the name of a missing module: where one may be (default "").
function luajit_errors.explained(text, places)
  local missing = text:match("undefined symbol: ([pm]g_[%w_]+)")
  if missing then
    return ("this binary is of another version than its Lua files, which call its %s; "
      .. "build it again with: make"):format(missing)
  end
  text = without_conversion(text)
  if not text:find("' not found:", 1, true) then return text end
  return without_places(text, places or "")
end

return luajit_errors

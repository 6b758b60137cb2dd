-- SPDX-License-Identifier: Apache-2.0
-- What a master says of a file of kept records, checked.

local C = require("core.declare")("net/replica/replica.h")
local ffi = require("ffi")

local said = {}

local LONGEST = 255
local SMALLEST, LARGEST = 8, 65536 -- a record, as net/keep has it
local FASTEST = 1e9                -- units of an expiry in a second
local NO_AGE = C.FLOW_NO_AGE % 2 ^ 32 -- LuaJIT has it as an int

local function is_whole(n, least, most)
  return type(n) == "number" and n >= least and n <= most and n % 1 == 0
end

local function is_text(text)
  return type(text) == "string" and #text <= LONGEST and not text:find("%z")
end

-- Is it where the age of records of that size may be?
local function is_age_at(at, size)
  return at == NO_AGE or is_whole(at, 0, LARGEST) and at % 8 == 0
    and at + ffi.sizeof("struct flow_age") <= size
end

-- Can records of that size have such keys?
local function are_keys(keys, size)
  return keys == nil or type(keys) == "table" and is_whole(keys.n, 1, 2)
    and is_whole(keys.size, 1, C.FLOW_KEY_MOST)
    and is_whole(keys.at, 0, size - keys.n * keys.size)
end

--- Why what is said, an object of JSON, can't be, behind "it"; nil: it can.
function said.problem(o)
  if type(o) ~= "table" or not is_text(o.of) or not is_text(o.layout)
    or o.of == "" then
    return "has a file whose name or layout is no text of up to 255 bytes"
  elseif not is_whole(o.size, SMALLEST, LARGEST) then
    return ("has records of %s bytes"):format(tostring(o.size))
  elseif not is_age_at(o.age_at, o.size) then
    return ("has ages at byte %s of %d"):format(tostring(o.age_at), o.size)
  elseif not are_keys(o.keys, o.size) then
    return ("has keys that aren't within records of %d bytes"):format(o.size)
  elseif not is_whole(o.most, 1, C.FLOW_MOST) then
    return ("has up to %s records"):format(tostring(o.most))
  elseif not is_whole(o.per_second, 1, FASTEST) then
    return ("has ages of which %s are a second"):format(tostring(o.per_second))
  end
end

return said

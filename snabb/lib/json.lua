-- SPDX-License-Identifier: Apache-2.0
-- Reads JSON (RFC 8259), one value at a time: what follows it may be anything. It also
-- takes comments /* ... */ and strings in single quotes, as Snabb's reader does.

local json = {}

--- Stands for null where a table is made by hand. (What is read has nil there.)
function json.null() return json.null end

local function fail(text, at, what)
  local line = 1
  for _ in text:sub(1, at - 1):gmatch("\n") do line = line + 1 end
  error(("JSON: line %d, byte %d: %s"):format(line, at, what), 0)
end

-- The place of the next byte that is neither white nor in a comment.
local function skip(text, at)
  at = text:find("[^ \t\r\n]", at) or #text + 1
  while text:sub(at, at + 1) == "/*" do
    local _, last = text:find("*/", at + 2, true)
    if not last then fail(text, at, "this comment has no end") end
    at = text:find("[^ \t\r\n]", last + 1) or #text + 1
  end
  return at
end

local ESCAPES = {b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"',
  ["'"] = "'", ["\\"] = "\\", ["/"] = "/"}

local char, floor = string.char, math.floor

-- The code point as UTF-8 (RFC 3629).
local function utf8(code)
  if code < 0x80 then return char(code) end
  if code < 0x800 then return char(0xc0 + floor(code / 64), 0x80 + code % 64) end
  local low, middle = 0x80 + code % 64, 0x80 + floor(code / 64) % 64
  if code < 0x10000 then return char(0xe0 + floor(code / 4096), middle, low) end
  return char(0xf0 + floor(code / 2^18), 0x80 + floor(code / 4096) % 64, middle, low)
end

local function code_unit(text, at)
  local digits = text:match("^u(%x%x%x%x)", at)
  return digits and tonumber(digits, 16)
end

-- What the escape at `at`, behind its backslash, means, and what comes after it.
local function escape(text, at)
  local simple = ESCAPES[text:sub(at, at)]
  if simple then return simple, at + 1 end
  local code = code_unit(text, at)
  if not code then fail(text, at, "there is no such escape") end
  if code >= 0xd800 and code < 0xdc00 then -- the first of two (RFC 8259, section 7)
    local second = text:sub(at + 5, at + 5) == "\\" and code_unit(text, at + 6)
    if second and second >= 0xdc00 and second < 0xe000 then
      return utf8(0x10000 + (code - 0xd800) * 1024 + second - 0xdc00), at + 11
    end
    fail(text, at, "half a surrogate pair")
  elseif code >= 0xdc00 and code < 0xe000 then
    fail(text, at, "half a surrogate pair")
  end
  return utf8(code), at + 5
end

local PLAIN = {['"'] = '^[^"\\]*', ["'"] = "^[^'\\]*"}

local function read_string(text, at)
  local quote, parts = text:sub(at, at), {}
  local place = at + 1
  while true do
    local first, last = text:find(PLAIN[quote], place)
    parts[#parts + 1] = text:sub(first, last)
    place = last + 1
    local byte = text:sub(place, place)
    if byte == quote then return table.concat(parts), place + 1 end
    if byte == "" then fail(text, at, "this string has no end") end
    parts[#parts + 1], place = escape(text, place + 1)
  end
end

local function read_number(text, at)
  local digits = text:match("^-?%d+%.?%d*[eE]?[+-]?%d*", at)
  local number = digits and tonumber(digits)
  if not number then fail(text, at, "this is no number") end
  return number, at + #digits
end

local decode

local MOST_DEEP = 500
local function nest(text, at, depth)
  if depth >= MOST_DEEP then
    fail(text, at, ("more than %d arrays and objects in each other"):format(MOST_DEEP))
  end
  return depth + 1
end

-- Behind an element: the place of the next one, or nil and what comes after the end.
local function proceed(text, at, closing)
  at = skip(text, at)
  local byte = text:sub(at, at)
  if byte == closing then return nil, at + 1 end
  if byte ~= "," then fail(text, at, ("',' or '%s' is missing"):format(closing)) end
  return skip(text, at + 1)
end

local function read_array(text, at, depth)
  local array, n = {}, 0
  depth = nest(text, at, depth)
  local place, after = skip(text, at + 1), nil
  if text:sub(place, place) == "]" then return array, place + 1 end
  while place do
    n = n + 1
    array[n], place = decode(text, place, depth)
    place, after = proceed(text, place, "]")
  end
  return array, after
end

local function read_object(text, at, depth)
  local object = {}
  depth = nest(text, at, depth)
  local place, after = skip(text, at + 1), nil
  if text:sub(place, place) == "}" then return object, place + 1 end
  while place do
    if not PLAIN[text:sub(place, place)] then fail(text, place, "a key is a string") end
    local key, colon = read_string(text, place)
    place = skip(text, colon)
    if text:sub(place, place) ~= ":" then fail(text, place, "':' is missing") end
    object[key], place = decode(text, skip(text, place + 1), depth)
    place, after = proceed(text, place, "}")
  end
  return object, after
end

local CONSTANTS = {["true"] = true, ["false"] = false}

function decode(text, at, depth)
  local byte = text:sub(at, at)
  if byte == "{" then return read_object(text, at, depth) end
  if byte == "[" then return read_array(text, at, depth) end
  if PLAIN[byte] then return read_string(text, at) end
  if byte:find("[-%d]") then return read_number(text, at) end
  local word = text:match("^%l+", at)
  if word == "null" then return nil, at + 4 end
  if CONSTANTS[word] == nil then
    fail(text, at, byte == "" and "a value is missing" or "this is no value")
  end
  return CONSTANTS[word], at + #word
end

--- The value at the place `start` (1) of the text, and the place behind it. Objects and
--- arrays become tables; null becomes nil, and so leaves no key. Raises an error
--- (a string) that says where the text is no JSON.
function json.decode(text, start)
  return decode(text, skip(text, start or 1), 0)
end

return require("core.lib.arguments").guard(json, "json", {decode = "string, number?"})

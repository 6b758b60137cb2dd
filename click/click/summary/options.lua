-- SPDX-License-Identifier: Apache-2.0
-- What options of IP and TCP headers have in common in summary dumps: a list of kinds,
-- each with its length and bytes; "eol", "nop", and "98=0:5:10" for what has no name.

local options = {}

local END, NOTHING = 0, 1
local MOST = 40 -- bytes

--- Bytes of a number, highest first.
function options.bytes(value, n)
  local list = {}
  for i = n, 1, -1 do
    list[i] = string.char(value % 256)
    value = math.floor(value / 256)
  end
  return table.concat(list)
end

--- The number that `n` bytes from `at` on are.
function options.number(text, at, n)
  local value = 0
  for i = at, at + n - 1 do value = value * 256 + text:byte(i) end
  return value
end

--- Options in a binary dump: their length, and they.
function options.pack(value) return string.char(#value) .. value end

--- The options at `at`, and what is behind them; nil if the text ends before.
function options.unpack(text, at)
  local length = text:byte(at)
  if not length or at + length > #text then return nil, #text + 1 end
  return text:sub(at + 1, at + length), at + 1 + length
end

-- One that has no name: its kind, and its bytes after "=".
local function other_text(option)
  local parts = {}
  for i = 3, #option do parts[#parts + 1] = option:byte(i) end
  return option:byte(1) .. (parts[1] and "=" .. table.concat(parts, ":") or "")
end

-- The option at `at` and what is behind it; nil if its length is wrong.
local function cut(text, at)
  local length = text:byte(at + 1)
  if not length or length < 2 or at + length - 1 > #text then return nil end
  return text:sub(at, at + length - 1), at + length
end

--- Options as text. `names` has functions by kind, which return an option's text, or
--- nil if it is wrong; false stands for kinds that are left out. `others` says whether
--- those that aren't in it are shown. Padding isn't.
function options.text(text, names, others)
  local list, at = {}, 1
  while at <= #text do
    local kind = text:byte(at)
    if kind == END then break end
    if kind == NOTHING then
      at = at + 1
    else
      local option, behind = cut(text, at)
      if not option then return "?" end
      local name = names[kind]
      if name == nil then name = others and other_text end
      if name then
        local shown = name(option)
        if not shown then return "?" end
        list[#list + 1] = shown
      end
      at = behind
    end
  end
  return list[1] and table.concat(list, ";") or "."
end

-- Parsing ---------------------------------------------------------------------------

-- "98" or "98=0:5:10" at `at`: the option, and what is behind it.
local function parse_other(text, at)
  local kind, behind = text:match("^(%d+)()", at)
  if not kind or tonumber(kind) > 255 then return nil end
  local data, after = text:match("^=(%d[%d:]*)()", behind)
  if not data then return string.char(tonumber(kind)), behind end
  if data:find("::", 1, true) then return nil end
  local bytes = {}
  for part in data:gmatch("%d+") do
    if tonumber(part) > 255 then return nil end
    bytes[#bytes + 1] = string.char(tonumber(part))
  end
  if #bytes > 253 then return nil end
  return string.char(tonumber(kind), #bytes + 2) .. table.concat(bytes),
    data:sub(-1) == ":" and after - 1 or after
end

local PADDING = {eol = END, nop = NOTHING}

local function parse_padding(text, at)
  local kind = PADDING[text:sub(at, at + 2)]
  if kind then return string.char(kind), at + 3 end
end

-- Padding at the front goes if the options don't fit.
local function trim(bytes)
  while #bytes > MOST and bytes:byte(1) == NOTHING do bytes = bytes:sub(2) end
  return #bytes <= MOST and bytes or nil
end

--- The bytes that a text stands for, or nil. Each of `parsers` gets the text, a place
--- in it, and the bytes so far, and returns the option that is there and what is behind
--- it, or nil. `others`: may there be padding, and options by number?
function options.parse(text, parsers, others)
  if text == "" or text == "." then return "" end
  local bytes, at = "", 1
  while true do
    local option, behind
    for _, parser in ipairs(parsers) do
      option, behind = parser(text, at, bytes)
      if option then break end
    end
    if not option and others then option, behind = parse_other(text, at) end
    if not option and others then option, behind = parse_padding(text, at) end
    if not option then return nil end
    bytes = bytes .. option
    if behind > #text then return trim(bytes) end
    if not text:find("^[,;]", behind) then return nil end
    at = behind + 1
  end
end

return options

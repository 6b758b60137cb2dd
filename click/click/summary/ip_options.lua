-- SPDX-License-Identifier: Apache-2.0
-- IP options in summary dumps: routes and timestamps (RFC 791), and others by number.
--
--     rr{10.0.0.1,20.0.0.2}+5            room for 5 more
--     ssrr{1.0.0.1,1.0.0.2^1.0.0.3}      ^ is where the pointer points
--     ts{1,10000,!45}+2++3               room for 2 more, 3 overflows
--     ts.ip{1.0.0.1=1}, ts.preip{1.0.0.1=1^1.0.0.2}

local options = require("click.summary.options")

local ip_options = {}

local RR, TS, LSRR, SSRR = 7, 68, 131, 137
local NAMES = {[RR] = "rr", [LSRR] = "lsrr", [SSRR] = "ssrr"}
local KINDS = {rr = RR, lsrr = LSRR, ssrr = SSRR}
local TIME_ONLY, WITH_ADDRESS, PRESPECIFIED = 0, 1, 3

local function address_text(option, at)
  return ("%d.%d.%d.%d"):format(option:byte(at, at + 3))
end

-- Text ------------------------------------------------------------------------------

local function route_text(option)
  local kind, pointer = option:byte(1), option:byte(3)
  if not pointer or pointer < 4 then return nil end
  local text, at, separator = {NAMES[kind], "{"}, 4, ""
  while at + 3 <= #option do
    if at == pointer then
      if kind == RR then break end
      separator = "^"
    end
    text[#text + 1] = separator .. address_text(option, at)
    separator, at = ",", at + 4
  end
  local full = at == #option + 1
  if full and at == pointer and kind ~= RR then text[#text + 1] = "^" end
  text[#text + 1] = "}"
  local room = math.floor((#option + 1 - at) / 4)
  if at == pointer and room > 0 and kind == RR then text[#text + 1] = "+" .. room end
  return table.concat(text)
end

local FLAG_TEXTS = {[TIME_ONLY] = "", [WITH_ADDRESS] = ".ip", [PRESPECIFIED] = ".preip"}

local function stamp_text(option, at)
  local value = options.number(option, at, 4)
  if value >= 2 ^ 31 then return ("!%.0f"):format(value - 2 ^ 31) end
  return ("%.0f"):format(value)
end

local function entry_text(option, at, flag, pointer)
  if flag ~= WITH_ADDRESS and flag ~= PRESPECIFIED then
    return stamp_text(option, at)
  end
  local address = address_text(option, at)
  if flag == PRESPECIFIED and at >= pointer then return address end
  return address .. "=" .. stamp_text(option, at + 4)
end

local function time_text(option)
  local pointer, last = option:byte(3, 4)
  if not last or pointer < 5 then return nil end
  local flag, overflow = last % 16, math.floor(last / 16)
  local size = (flag == WITH_ADDRESS or flag == PRESPECIFIED) and 8 or 4
  local text = {"ts", FLAG_TEXTS[flag] or "." .. flag, "{"}
  local at, separator = 5, ""
  while at + size - 1 <= #option do
    if at == pointer then
      if flag ~= PRESPECIFIED then break end
      separator = "^"
    end
    text[#text + 1] = separator .. entry_text(option, at, flag, pointer)
    separator, at = ",", at + size
  end
  if at == #option + 1 and at == pointer then text[#text + 1] = "^" end
  text[#text + 1] = "}"
  local room = math.floor((#option + 1 - at) / size)
  if at == pointer and room > 0 then text[#text + 1] = "+" .. room end
  if overflow > 0 then text[#text + 1] = "++" .. overflow end
  return table.concat(text)
end

local TEXTS = {[RR] = route_text, [LSRR] = route_text, [SSRR] = route_text,
               [TS] = time_text}

--- The options as text.
function ip_options.text(bytes) return options.text(bytes, TEXTS, true) end

-- Parsing ---------------------------------------------------------------------------

local function parse_address(text, at)
  local a, b, c, d, behind = text:match("^(%d+)%.(%d+)%.(%d+)%.(%d+)()", at)
  local bytes = {}
  for i, part in ipairs{a, b, c, d} do
    if tonumber(part) > 255 then return nil end
    bytes[i] = string.char(tonumber(part))
  end
  if behind then return table.concat(bytes), behind end
end

-- An option of entries: `entry(at, pointer)` returns the bytes of the entry at `at` and
-- what is behind it, or nil; `front` is how many bytes the option has before them.
-- Returns the entries' bytes, the pointer, and what is behind "}".
local function parse_entries(text, at, front, entry)
  local bytes, pointer = "", nil
  while true do
    if text:sub(at, at) == "^" and not pointer then
      pointer, at = front + #bytes + 1, at + 1
    end
    if not text:find("^[%d!]", at) then break end
    local one, behind = entry(at, pointer)
    if not one then return nil end
    bytes, at = bytes .. one, behind
    if text:sub(at, at) == "," then at = at + 1 end
  end
  if text:sub(at, at) ~= "}" then return nil end
  return bytes, pointer or front + #bytes + 1, at + 1
end

-- "+5": room for so many more entries of `size` bytes.
local function parse_room(text, at, size)
  local room, behind = text:match("^%+(%d%d?)()", at)
  if not room or tonumber(room) > 63 then return "", at end
  return ("\0"):rep(tonumber(room) * size), behind
end

local function parse_route(text, at)
  local name, behind = text:match("^(%l+){()", at)
  if not KINDS[name] then return nil end
  local bytes, pointer, after = parse_entries(text, behind, 3, function (place)
    return parse_address(text, place)
  end)
  if not bytes then return nil end
  local room
  room, after = parse_room(text, after, 4)
  bytes = bytes .. room
  if #bytes + 3 > 255 then return nil end
  return string.char(KINDS[name], #bytes + 3, pointer) .. bytes, after
end

local function parse_stamp(text, at)
  local mark, digits, behind = text:match("^(!?)(%d+)()", at)
  if not digits or tonumber(digits) >= 2 ^ 32 then return nil end
  local value = tonumber(digits) % 2 ^ 31 + (mark == "!" and 2 ^ 31 or 0)
  return options.bytes(mark == "!" and value or tonumber(digits), 4), behind
end

local function parse_pair(text, at, pointer)
  local address, behind = parse_address(text, at)
  if not address then return nil end
  if text:find("^=[%d!]", behind) then
    local stamp, after = parse_stamp(text, behind + 1)
    if not stamp then return nil end
    return address .. stamp, after
  elseif not pointer then
    return nil
  end
  local nothing = address .. "\0\0\0\0"
  if text:sub(behind, behind) ~= "=" then return nothing, behind end
  if text:sub(behind + 1, behind + 1) == "?" then return nothing, behind + 2 end
end

local FLAGS = {ip = WITH_ADDRESS, preip = PRESPECIFIED}

local function parse_time(text, at)
  local suffix, behind = text:match("^ts%.?(%w*){()", at)
  if not suffix then return nil end
  local flag = FLAGS[suffix] or tonumber(suffix)
  if suffix ~= "" and (not flag or flag > 15) then return nil end
  local bytes, pointer, after = parse_entries(text, behind, 4, function (place, before)
    local pair = flag == WITH_ADDRESS or flag == PRESPECIFIED
    if not flag then
      pair = text:find("^%d+%.", place) ~= nil
      flag = pair and WITH_ADDRESS or TIME_ONLY
    end
    if not pair then return parse_stamp(text, place) end
    -- Addresses behind the pointer can only have been specified before.
    if before and suffix == "" then flag = PRESPECIFIED end
    return parse_pair(text, place, before)
  end)
  if not bytes then return nil end
  flag = flag or TIME_ONLY
  local size = (flag == WITH_ADDRESS or flag == PRESPECIFIED) and 8 or 4
  local room
  room, after = parse_room(text, after, size)
  local overflow, last = text:match("^%+%+(%d%d?)()", after)
  if overflow and tonumber(overflow) < 16 then
    after, overflow = last, tonumber(overflow)
  else
    overflow = 0
  end
  bytes = bytes .. room
  if #bytes + 4 > 255 then return nil end
  return string.char(TS, #bytes + 4, pointer, overflow * 16 + flag) .. bytes, after
end

local PARSERS = {parse_route, parse_time}

--- The bytes of the options that a text stands for, or nil.
function ip_options.parse(text) return options.parse(text, PARSERS, true) end

return ip_options

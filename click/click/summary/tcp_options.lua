-- SPDX-License-Identifier: Apache-2.0
-- TCP options in summary dumps (RFC 793, 1323, 2018): mss1400, wscale10, sackok,
-- sack95-98, ts669063908:38382731, and others by number.

local options = require("click.summary.options")

local tcp_options = {}

local MSS, SCALE, SACK_OK, SACK, TIME = 2, 3, 4, 5, 8

-- Text ------------------------------------------------------------------------------

local function number_text(name, n)
  return function (option)
    if #option ~= 2 + n then return nil end
    return ("%s%d"):format(name, options.number(option, 3, n))
  end
end

local function sack_ok_text(option) return #option == 2 and "sackok" or nil end

local function sack_text(option)
  if #option % 8 ~= 2 then return nil end
  local list = {}
  for at = 3, #option, 8 do
    list[#list + 1] = ("sack%.0f-%.0f"):format(options.number(option, at, 4),
      options.number(option, at + 4, 4))
  end
  return table.concat(list, ";")
end

local function time_text(option)
  if #option ~= 10 then return nil end
  return ("ts%.0f:%.0f"):format(options.number(option, 3, 4),
    options.number(option, 7, 4))
end

local TEXTS = {
  [MSS] = number_text("mss", 2), [SCALE] = number_text("wscale", 1),
  [SACK_OK] = sack_ok_text, [SACK] = sack_text, [TIME] = time_text,
}

-- A selective acknowledgement without blocks is nothing to show.
local function without(kinds)
  local texts = {}
  for kind, text in pairs(TEXTS) do texts[kind] = not kinds[kind] and text end
  return texts
end

local SETS = {
  all = {texts = TEXTS, others = true},
  not_time = {texts = without{[TIME] = true}, others = true},
  sack = {texts = without{[MSS] = true, [SCALE] = true, [TIME] = true}, others = false},
}

--- The options of a set as text: "all"; "not_time", all but timestamps; or "sack",
--- those of selective acknowledgement.
function tcp_options.text(bytes, set)
  return options.text(bytes, SETS[set].texts, SETS[set].others)
end

-- Parsing ---------------------------------------------------------------------------

local function parse_number(name, kind, n)
  return function (text, at)
    local digits, behind = text:match("^" .. name .. "(%d+)()", at)
    if not digits or tonumber(digits) >= 256 ^ n then return nil end
    return string.char(kind, n + 2) .. options.bytes(tonumber(digits), n), behind
  end
end

local function parse_sack_ok(text, at)
  if text:sub(at, at + 5) == "sackok" then return string.char(SACK_OK, 2), at + 6 end
end

-- Blocks that follow each other at commas are one option.
local function parse_sack(text, at)
  local bytes = ""
  while true do
    local from, to, behind = text:match("^sack(%d+)[:-](%d+)()", at)
    if not from then return nil end
    bytes = bytes .. options.bytes(tonumber(from), 4) .. options.bytes(tonumber(to), 4)
    at = behind
    if not text:find("^,sack%d", at) then break end
    at = at + 1
  end
  if #bytes > 253 then return nil end
  return string.char(SACK, #bytes + 2) .. bytes, at
end

local function parse_time(text, at, before)
  local value, echo, behind = text:match("^ts(%d+):(%d+)()", at)
  if not value then return nil end
  local padding = before == "" and "\1\1" or ""
  return padding .. string.char(TIME, 10) .. options.bytes(tonumber(value), 4)
    .. options.bytes(tonumber(echo), 4), behind
end

local parse_mss = parse_number("mss", MSS, 2)
local parse_scale = parse_number("wscale", SCALE, 1)

SETS.all.parsers = {parse_mss, parse_scale, parse_sack_ok, parse_sack, parse_time}
SETS.not_time.parsers = {parse_mss, parse_scale, parse_sack_ok, parse_sack}
SETS.sack.parsers = {parse_sack_ok, parse_sack}

--- The bytes of the options that a text stands for, or nil.
function tcp_options.parse(text, set)
  return options.parse(text, SETS[set].parsers, SETS[set].others)
end

return tcp_options

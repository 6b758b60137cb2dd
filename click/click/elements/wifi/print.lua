-- SPDX-License-Identifier: Apache-2.0
-- PrintWifi prints a line for each wireless frame, as Click does.

local bit = require("bit")
local element = require("click.element")
local ffi = require("ffi")
local note = require("click.note")
local wifi = require("click.net.wifi")

local band = bit.band
local HEADER, RATE_BYTES, MOST_RATES = wifi.HEADER, 8, 15

local PrintWifi = element.define{
  name = "PrintWifi", summary = "prints wireless frames", division = "any",
  reads = {"WIFI_EXTRA"},
  arguments = {
    {"LABEL", "string", default = ""},
    {"TIMESTAMP", "bool", default = false, keyword = true},
  },
}

function PrintWifi:configure(a) self.label, self.timestamp = a.LABEL, a.TIMESTAMP end

-- Contents of management frames -----------------------------------------------------

local REASONS = {"unspecified", "auth_expire", "auth_leave", "assoc_expire/inactive",
  "assoc_toomany", "not_authed", "not_assoced", "assoc_leave", "assoc_not_authed"}

local STATUS = {[0] = "success", "unspecified", [10] = "capinfo", [11] = "not_assoced",
  [12] = "other", [13] = "alg", [14] = "seq", [15] = "challenge", [16] = "timeout",
  [18] = "basic_rates", [22] = "too_many_stations", [23] = "rates",
  [25] = "shortslot_required"}

local function reason_text(n) return REASONS[n] or "unknown reason " .. n end
local function status_text(n) return STATUS[n] or "unknown status " .. n end

local function capability_text(field)
  return "[" .. table.concat(wifi.capabilities(field), " ") .. "]"
end

local function rates_text(rates)
  return ("({%s} %s)"):format(table.concat(rates.basic, " "),
    table.concat(rates.others, " "))
end

-- The network's name in the element at `at`, the rates in the one behind it.
local function name_and_rates(p, at)
  local name, next_at = "(invalid ssid)", at
  if at + 2 <= p.length then
    local list = wifi.elements(p, at)
    if p.data[at] == wifi.SSID then name = wifi.ssid(list) end
    next_at = at + 2 + p.data[at + 1]
  end
  local rates = ""
  if next_at + 2 <= p.length then
    local n = math.min(p.data[next_at + 1], p.length - next_at - 2)
    rates = ffi.string(p.data + next_at + 2, n)
  end
  return name, rates_text(wifi.rates(rates, MOST_RATES))
end

local FIXED = 12 -- bytes of a beacon before its elements

local function beacon_text(p)
  local list = wifi.elements(p, HEADER + FIXED)
  local name, channel = wifi.ssid(list), list[wifi.CHANNEL]
  local rates = wifi.rates(list[wifi.RATES], RATE_BYTES)
  wifi.rates(list[wifi.MORE_RATES], RATE_BYTES, rates)
  local words = wifi.capabilities(wifi.number(p, HEADER + 10))
  words[#words + 1] = ""
  return ("%s %s chan %d b_int %d [ %s] %s"):format(wifi.eth_text(wifi.address(p, 3)),
    name == "" and "(none)" or name, channel and channel:byte() or 0,
    wifi.number(p, HEADER + 8), table.concat(words, " "), rates_text(rates))
end

-- By subtype, the words and what of a frame comes behind them.
local MANAGEMENT = {
  [0x00] = function (p)
    local name, rates = name_and_rates(p, HEADER + 4)
    return ("assoc_req listen_int %d %s ssid %s rates %s "):format(
      wifi.number(p, HEADER + 2), capability_text(wifi.number(p, HEADER)), name, rates)
  end,
  [0x10] = function (p)
    local status = wifi.number(p, HEADER + 2)
    return ("assoc_resp %s status %d %s associd %d "):format(
      capability_text(wifi.number(p, HEADER)), status, status_text(status),
      wifi.number(p, HEADER + 4))
  end,
  [0x20] = "reassoc_req ", [0x30] = "reassoc_resp ",
  [0x40] = function (p) return ("probe_req ssid %s %s "):format(
    name_and_rates(p, HEADER)) end,
  [0x50] = function (p) return "probe_resp " .. beacon_text(p) end,
  [0x80] = function (p) return "beacon " .. beacon_text(p) end,
  [0x90] = "atim ",
  [0xa0] = function (p)
    return ("disassoc %s "):format(reason_text(wifi.number(p, HEADER)))
  end,
  [0xb0] = function (p)
    return ("auth alg %d auth_seq %d status %s "):format(wifi.number(p, HEADER),
      wifi.number(p, HEADER + 2), status_text(wifi.number(p, HEADER + 4)))
  end,
  [0xc0] = "deauth ",
}

local CONTROL = {[0xa0] = "psp  ", [0xb0] = "rts  ", [0xc0] = "cts  ",
  [0xd0] = function (p) return ("ack  %d "):format(wifi.number(p, 2)) end,
  [0xe0] = "cfe  ", [0xf0] = "cfea "}

local DIRECTIONS = {[0] = "nods ", "tods ", "frds ", "dsds "}

local function contents(p, first, second)
  local subtype = band(first, wifi.SUBTYPES)
  local function of(name, kinds)
    local what = kinds[subtype] or ("unknown-subtype-%d "):format(subtype)
    return name .. (type(what) == "string" and what or what(p))
  end
  local kind = band(first, wifi.TYPES)
  if kind == wifi.MANAGEMENT then return of("mgmt ", MANAGEMENT) end
  if kind == wifi.CONTROL then return of("cntl ", CONTROL) end
  if kind == wifi.DATA then return "data " .. DIRECTIONS[band(second, 3)] end
  return ("unknown-type-%d "):format(kind)
end

-- The line --------------------------------------------------------------------------

local function addresses(p)
  local text = ""
  for i, least in ipairs{10, 16, 23} do
    if p.length >= least then
      text = text .. wifi.eth_text(wifi.address(p, i)) .. " "
    end
  end
  return text
end

local function sequence_text(p, second)
  if p.length < HEADER then return "" end
  local number, fragment = wifi.sequence(p)
  local text = ("seq %d "):format(number)
  if fragment ~= 0 or band(second, wifi.MORE_FRAGMENTS) ~= 0 then
    text = ("%sfrag %d "):format(text, fragment)
  end
  return text
end

local FLAGS = {{wifi.TX, " tx"}, {wifi.TX_FAILED, " fail"},
  {wifi.TX_OTHER_RATE, " alt_rate"}, {wifi.RX_BAD, " err"}, {wifi.RX_MORE, " more"}}

local function flags_text(p, second)
  local extra, words = wifi.extra(p)
  local text = "["
  for _, flag in ipairs(FLAGS) do
    if band(words[1], flag[1]) ~= 0 then text = text .. flag[2] end
  end
  if band(second, wifi.RETRY) ~= 0 then text = text .. " retry" end
  if band(second, wifi.PROTECTED) ~= 0 then text = text .. " wep" end
  text = text .. " ] "
  if band(words[1], wifi.TX) == 0 then return text end
  return ("%s retries %d"):format(text, extra[wifi.RETRIES])
end

local ODD_RATE = 11 -- 5.5 Mbit/s

function PrintWifi:process(p)
  local first = p.length > 0 and p.data[0] or 0
  local second = p.length > 1 and p.data[1] or 0
  local extra = wifi.extra(p)
  local rate = extra[wifi.RATE]
  local text = self.label == "" and "" or self.label .. ": "
  if self.timestamp then
    text = text .. note.time_text(p.note64[note.TIMESTAMP]) .. ": "
  end
  text = text .. ("%4d | %sMb +%2d/%2d | "):format(p.length, rate == ODD_RATE and " 5.5"
    or ("%2d"):format(bit.rshift(rate, 1)), extra[wifi.RSSI], extra[wifi.SILENCE])
    .. contents(p, first, second)
  local subtype = band(first, wifi.SUBTYPES)
  if subtype ~= wifi.BEACON and subtype ~= wifi.PROBE_RESPONSE then
    text = text .. addresses(p) .. sequence_text(p, second) .. flags_text(p, second)
  end
  self:say("%s", text)
  return p
end

return {PrintWifi}

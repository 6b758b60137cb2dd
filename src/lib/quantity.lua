-- SPDX-License-Identifier: Apache-2.0
-- Rates, sizes, counts and times as users write them, for all programs: a number in
-- decimal notation with a unit behind it. Each function returns the number, or nil and
-- what is wrong, a clause that begins with the text.

local quantity = {}

-- Powers of 1,000 (SI), and of 1,024 (IEC 80000-13).
local THOUSANDS = {k = 1e3, K = 1e3, M = 1e6, G = 1e9}
local BINARY = {Ki = 2^10, Mi = 2^20, Gi = 2^30}

--- Is `value`, which was read from the text, 0 though the text says more, such as
--- 1e-400? Numbers end at 5e-324.
function quantity.underflows(text, value)
  return value == 0 and text:match("^[^eEpP]*"):find("[1-9]") ~= nil
end

--- The number that the text is in decimal notation, or nil. (tonumber() also takes
--- "0x10", "inf" and "nan", and 1e-400 as 0.)
function quantity.decimal(text)
  if text:match("^[+-]?%d+%.?%d*[eE]?[+-]?%d*$")
    or text:match("^[+-]?%.%d+[eE]?[+-]?%d*$") then
    local value = tonumber(text)
    return value and not quantity.underflows(text, value) and value or nil
  end
end
local decimal = quantity.decimal

-- The text's number (nil: it has none) and what stands behind it.
local function parts(text)
  local digits, unit = text:match("^(.-)%s*(%a[%a/]*)$")
  if digits then return decimal(digits), unit end
  return decimal(text), ""
end

local function refusal(text, wanted)
  return nil, ("'%s' isn't %s"):format(text, wanted)
end

local function is_finite(n) return n and n - n == 0 end

--- How many: a whole number of at least 0, such as 1500, 10k, 1.5M or 2G.
function quantity.count(text)
  local n, unit = parts(text)
  local value = n and n * (unit == "" and 1 or THOUSANDS[unit] or 0/0)
  if is_finite(value) and value >= 0 and value % 1 == 0 and value <= 2^53 then
    return value
  end
  return refusal(text, "a count such as 1500, 10k or 1M")
end

--- Bytes: a count, also with B behind it, or Ki, Mi, Gi (1,024 and its powers).
function quantity.bytes(text)
  local n, unit = parts(text)
  unit = unit:gsub("B$", "")
  local value = n and n * (unit == "" and 1 or THOUSANDS[unit] or BINARY[unit] or 0/0)
  if is_finite(value) and value >= 0 and value % 1 == 0 and value <= 2^53 then
    return value
  end
  return refusal(text, "a size such as 1500, 64k or 2MiB")
end

local SECONDS = {ns = 1e-9, us = 1e-6, ms = 1e-3, s = 1, sec = 1, m = 60, min = 60,
                 h = 3600}

--- A time of at least 0, in seconds: 10, 0.5, 500ms, 2m (minutes), 1h.
function quantity.duration(text)
  local n, unit = parts(text)
  local value = n and n * (unit == "" and 1 or SECONDS[unit] or 0/0)
  if is_finite(value) and value >= 0 then return value end
  return refusal(text, "a duration in seconds, or such as 500ms, 2m, 1h")
end

--- Seconds as people read them: 42s, 3m05s, 2h03m, 5d02h.
function quantity.duration_text(seconds)
  local s = math.floor(seconds)
  if s < 60 then return ("%ds"):format(s) end
  if s < 3600 then return ("%dm%02ds"):format(s / 60, s % 60) end
  if s < 86400 then return ("%dh%02dm"):format(s / 3600, s % 3600 / 60) end
  return ("%dd%02dh"):format(s / 86400, s % 86400 / 3600)
end

-- What rates are of, by how they are written.
local PACKETS, BITS = "packets", "bits"
-- Nobody sends a thousandth of a packet: m is a million, as other generators have it.
local RATES = {k = 1e3, K = 1e3, m = 1e6, M = 1e6, g = 1e9, G = 1e9}
local OF = {
  pps = PACKETS, ["p/s"] = PACKETS,
  bit = BITS, ["bit/s"] = BITS, bps = BITS, ["b/s"] = BITS, ["bits/s"] = BITS,
}

--- A rate above 0: how many a second, and of what: "packets" (2Mpps) or "bits"
--- (10Gbit/s, 10gbps). `plain`: what those without a unit are of (nil: nothing, they
--- are refused).
function quantity.rate(text, plain)
  local n, unit = parts(text)
  local prefix, word = unit:match("^([kKmMgG]?)(.*)$")
  local of = OF[word] or word == "" and plain
  local value = n and of and n * (prefix == "" and 1 or RATES[prefix])
  if is_finite(value) and value > 0 then return value, of end
  local wanted = "a rate such as 500kpps, 1.5Mpps, 100Mbit or 10Gbit"
  if n and n > 0 and word == "" then
    return refusal(text, ("%s: say %spps or %sbit"):format(wanted, text, text))
  elseif text:find("%%$") then
    return refusal(text, wanted .. ": shares of a port's speed aren't taken")
  end
  return refusal(text, wanted)
end

return quantity

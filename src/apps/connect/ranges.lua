-- SPDX-License-Identifier: Apache-2.0
-- Ranges of addresses and ports as users write them, and as C has them. Pure.

local failure = require("core.failure")
local ffi = require("ffi")
local addresses = require("net.address.address")

local ranges = {}

local MOST = 2^24 -- addresses of a range

-- The last 32 bits of an address as a number.
local function low(bytes)
  local a, b, c, d = bytes:byte(-4, -1)
  return ((a * 256 + b) * 256 + c) * 256 + d
end

local function refuse(what, text)
  failure.usage("%s: '%s' isn't a range of addresses such as 10.0.0.1..10.0.3.255, "
    .. "10.0.0.0/22, 2001:db8::1 or 2001:db8::1..2001:db8::ffff", what, text)
end

local function too_many(what, text)
  failure.usage("%s: '%s' has more than %d addresses, the most of a range", what,
    text, MOST)
end

local function by_prefix(what, text)
  local bytes, length, family = addresses.prefix(text)
  if not bytes then refuse(what, text) end
  local count = 2 ^ (addresses.BITS[family] - length)
  if count > MOST then
    too_many(what, text)
  elseif low(bytes) % count ~= 0 then
    failure.usage("%s: '%s' begins within its network: the bits behind the first %d "
      .. "must be 0", what, text, length)
  end
  return {first = bytes, count = count, family = family}
end

local function from_to(what, text, from, to)
  local first, family = addresses.ip(from)
  local last, other = addresses.ip(to)
  if not first or not last or family ~= other or first:sub(1, -5) ~= last:sub(1, -5)
    or low(last) < low(first) then
    refuse(what, text)
  end
  local count = low(last) - low(first) + 1
  if count > MOST then
    too_many(what, text)
  end
  return {first = first, count = count, family = family}
end

--- The range that the text means: {first = bytes of the first address, count, family =
--- 4 or 6}. `what` stands in front of what is wrong.
function ranges.addresses(what, text)
  local from, to = text:match("^(.-)%.%.(.+)$")
  local range
  if from then
    range = from_to(what, text, from, to)
  else
    range = by_prefix(what, text)
  end
  if not addresses.is_unicast(range.first)
    or not addresses.is_unicast(ranges.address(range, range.count - 1)) then
    failure.usage("%s: '%s' has addresses that no host can have", what, text)
  end
  return range
end

--- The ports "80" or "1024..65535": {first, count}.
function ranges.ports(what, text)
  text = tostring(text)
  local from, to = text:match("^(%d+)%.%.(%d+)$")
  if not from then from, to = text:match("^%d+$"), text end
  from, to = tonumber(from), tonumber(to)
  if not from or from > to or to > 65535 then
    failure.usage("%s: '%s' isn't a port from 0 to 65535, or a range such as "
      .. "1024..65535", what, text)
  end
  return {first = from, count = to - from + 1}
end

--- Write addresses or ports into C's struct.
function ranges.fill(struct, range)
  if range.family then
    ffi.copy(struct.first, range.first, #range.first)
    struct.family = range.family
  else
    struct.first = range.first
  end
  struct.count = range.count
end

--- The address number `i` (from 0) of a range, as bytes.
function ranges.address(range, i)
  local n, tail = low(range.first) + i, ""
  for _ = 1, 4 do
    n, tail = math.floor(n / 256), string.char(n % 256) .. tail
  end
  return range.first:sub(1, -5) .. tail
end

return ranges

-- SPDX-License-Identifier: Apache-2.0
-- What a field of the packets is set to, as text: a constant, LOW..HIGH, a,b,c, random
-- or random:LOW..HIGH. Addresses are counted with their last byte as the lowest.

local address = require("lib.stack.address")
local random = require("lib.traffic.random")

local M = {}

local EXACT = 2^53 -- whole numbers are exact in a double up to here

local function big_endian(bytes, n)
  local number = 0
  for i = 0, n - 1 do number = number * 256 + bytes[i] end
  return number
end

-- A type of field: `parse` makes a number of text, or (ip6) the number of its lower 64
-- bits and the address; nil if it can't.
local KINDS = {
  uint = {parse = function (text, field)
    local digits = text:match("^%d+$") or text:match("^0[xX]%x+$")
    local number = digits and tonumber(digits)
    return number and number < 2 ^ field.bits and number <= EXACT and number or nil
  end, wanted = function (field)
    return ("a whole number from 0 to %.0f"):format(math.min(2 ^ field.bits - 1, EXACT))
  end, any = function (field)
    return 0, math.min(2 ^ field.bits, EXACT)
  end},
  ip4 = {parse = function (text)
    return address.parseIP4Address(text)
  end, wanted = "an IPv4 address such as 10.0.0.1", any = function ()
    return 0, 2^32
  end},
  mac = {parse = function (text)
    local mac = address.parseMacAddress(text)
    return mac and big_endian(mac.uint8, 6)
  end, wanted = "a MAC address such as 02:00:00:00:00:01", any = function ()
    return 0x020000000000, 2^40 -- of one host, locally administered
  end},
  ip6 = {parse = function (text)
    local ip6 = address.parseIP6Address(text)
    return ip6 and bit.bswap(ip6.uint64[1]), ip6
  end, wanted = "an IPv6 address such as 2001:db8::1"},
}

local function wanted(field)
  local kind = KINDS[field.kind]
  return type(kind.wanted) == "function" and kind.wanted(field) or kind.wanted
end

local function one(text, field)
  local number, ip6 = KINDS[field.kind].parse(text, field)
  if number then return number, ip6 end
  return nil, ("'%s' isn't %s"):format(text, wanted(field))
end

-- The value `number` that was `text`, as lib.stack's fill takes it.
local function fillable(field, text, number)
  return field.kind == "uint" and number or text
end

local function bounds(field, first, last)
  local low, a = one(first, field)
  if not low then return nil, a end
  local high, b = one(last, field)
  if not high then return nil, b end
  if field.kind == "ip6" and a.uint64[0] ~= b.uint64[0] then
    return nil, "the ends of a range of IPv6 addresses have the same first 64 bits"
  end
  if high < low then return nil, ("%s is above %s"):format(first, last) end
  local count = tonumber(high - low) + 1
  if count > EXACT then return nil, "a range has up to 2^53 values" end
  return {low = low, count = count, first = fillable(field, first, low)}
end

local function any(field)
  if not KINDS[field.kind].any then
    return nil, "give random IPv6 addresses their bounds: random:LOW..HIGH"
  end
  local low, count = KINDS[field.kind].any(field)
  return {kind = "random", low = low, count = count}
end

local function list(text, field)
  local spec = {kind = "list", list = {}}
  for item in (text .. ","):gmatch("([^,]*),") do
    local number, other = one(item, field)
    if not number then return nil, other end
    spec.list[#spec.list + 1] = field.kind == "ip6" and other or number
    spec.first = spec.first or fillable(field, item, number)
  end
  spec.count = #spec.list
  return spec
end

local function parse(text, field)
  if not KINDS[field.kind] then
    return nil, ("a field of type %s can't be set to text"):format(field.kind)
  end
  if text == "random" then return any(field) end
  local between = text:match("^random:(.*%.%..*)$")
  local first, last = (between or text):match("^(.-)%.%.(.*)$")
  if first then
    local spec, problem = bounds(field, first, last)
    if spec then spec.kind = between and "random" or "range" end
    return spec, problem
  end
  if text:find(",", 1, true) then return list(text, field) end
  local number, problem = one(text, field)
  if not number then return nil, problem end
  return {kind = "constant", count = 1, first = fillable(field, text, number)}
end

--- What `text` means for `field`, a table of `kind` ("uint", "ip4", "ip6", "mac") and
--- `bits`. A table: `kind` ("constant", "range", "random", "list"); `count`, how many
--- values; `low`, the lowest (of ip6: its lower 64 bits, uint64_t); `list`; and
--- `first`, a value for lib.stack's fill (nil: none is needed). Or nil and what is
--- wrong, a sentence without the label.
function M.parse(text, field)
  local spec, problem = parse(text, field)
  if spec then
    spec.text = text
    return spec
  end
  return nil, problem .. "; allowed are one value, LOW..HIGH, a list a,b,c,"
    .. " random and random:LOW..HIGH"
end

--- The value number `index` of a spec that isn't a constant, a number as `low` is.
--- (For tests and reports; lib.traffic.writer writes code for the packet path.)
function M.at(spec, index, seed)
  if spec.kind == "list" then return spec.list[index % spec.count + 1] end
  local offset = spec.kind == "random"
    and math.floor(random.at(index, seed) * spec.count) or index % spec.count
  return spec.low + offset
end

return M

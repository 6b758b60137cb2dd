-- SPDX-License-Identifier: Apache-2.0
-- What of libmoon's general functions, which scripts know as globals, is about packets:
-- addresses, checksums, stacks, sizes and gaps. The others are moongen.tasks.globals.

local bit = require("bit")
local ffi = require("ffi")
local address = require("lib.stack.address")
local dump = require("moongen.packets.dump")
local stack = require("moongen.packets.stack")
require("core.native")

local utils = {}

local band, bor, bswap = bit.band, bit.bor, bit.bswap
local arshift, lshift, rshift = bit.arshift, bit.lshift, bit.rshift

-- ---- bytes ----

--- The internet checksum (RFC 1071) of `len` bytes, as it lies in memory: setters of
--- headers take hton16() of it.
function utils.checksum(data, len)
  local sum = ffi.C.pg_checksum(data, len, 0)
  return (bor(rshift(sum, 8), lshift(band(sum, 0xff), 8)))
end

--- Write `bytes` bytes at `data` in hex to `stream` (nil: standard output); `seps` are
--- the offsets at which colours change.
utils.dumpHex = dump.hex

-- ---- addresses ----

utils.ip4ToString = address.ip4ToString

--- A struct with the address, or (`number`) a number; nil if the text isn't one.
function utils.parseMacAddress(mac, number)
  return address.parseMacAddress(mac, number)
end

-- As text: programs also pass addresses, and nil.
local function of_text(parse)
  return function (ip)
    if ip == nil then return nil end
    return parse(tostring(ip))
  end
end

--- The address as a number (0 to 0xffffffff); nil if the text isn't one.
utils.parseIP4Address = of_text(address.parseIP4Address)
utils.parseIP6Address = of_text(address.parseIP6Address)

--- The address in the text, and whether it is an IPv4 one.
function utils.parseIPAddress(ip)
  return address.parseIPAddress(ip ~= nil and tostring(ip) or nil)
end

-- ---- stacks ----

utils.createStack = stack.create

--- The old name of createStack.
utils.packetCreate = stack.create

--- {proto =, name =, length =, subType =} of one of createStack's arguments.
utils.getHeaderData = stack.header_data

--- Print the names of the structs of all stacks that were made.
function utils.listPacketStructs()
  print("All available packet structs:")
  for _, name in ipairs(stack.names()) do print(name) end
end

--- A metatable for a header with these members (lines of C), with a getter and a setter
--- for each, and what a header has to have (proto.template).
function utils.initHeader(members)
  return require("moongen.packets.template")(members)
end

-- ---- sizes and gaps of packets ----

--- A size of a packet in bytes (without CRC), by chance: of 12, 7 are short, 4 middling
--- and 1 is long, as in the "simple IMIX".
function utils.imixSize()
  local chance = math.random(12)
  if chance == 1 then return 1518 end
  return chance <= 5 and 574 or 68
end

local OVERHEAD = 24 -- bytes on the wire around a packet: CRC, preamble, gap

--- The wait in byte times before the next packet of a Poisson process, where it is
--- `average` on average.
function utils.poissonDelay(average)
  return math.floor(-math.log(1 - math.random()) * average + 0.5)
end

--- The gap in byte times at 10 Gbit/s behind a packet of `size` bytes (60) for `rate`
--- million packets a second.
function utils.rateToByteDelay(rate, size)
  return 10^10 / 8 / (rate * 10^6) - (size or 60) - OVERHEAD
end

--- The gap in byte times for packets of `size` bytes (60) that begin `time` nanoseconds
--- apart on a link of `rate` Mbit/s (10000).
function utils.timeToByteDelay(time, rate, size)
  return time * 1.25 * ((rate or 10000) / 10^4) - (size or 60) - OVERHEAD
end

return utils

-- SPDX-License-Identifier: Apache-2.0
-- Snabb's checksums over IP packets in memory, by the shim's kernels. `buffer` points
-- at the IP header, `length` bytes in all. net.checksum.checksum has more.

local ffi = require("ffi")
local arguments = require("core.lib.arguments")
local sums = require("net.checksum.checksum")
local C = require("core.declare")("net/checksum/checksum.h")
local wire = require("net.wire.bytes")
require("lib.checksum_h")

local read16, write16 = wire.read16, wire.write16
local band, rshift, type, tonumber = bit.band, bit.rshift, type, tonumber
local bytes_pointer, signed_pointer = ffi.typeof("uint8_t *"), ffi.typeof("int8_t *")

local checksum = {}

-- Packets' functions look at the types by themselves: compiled code knows them.
local function check_bytes(name, pointer, length, more)
  if type(pointer) ~= "cdata" or tonumber(pointer) then
    local problem = arguments.problem(name .. ": argument 1", "pointer", pointer)
    if problem then error(problem, 3) end
  end
  for i = 1, 2 do
    local value = i == 1 and length or i == 2 and more or nil
    if type(value) == "string" or not tonumber(value) then
      error(("%s: argument %d is %s; it takes a number"):format(name, i + 1,
        arguments.shown(value)), 3)
    end
  end
end

local UNKNOWN, BAD_HEADER = 0xffff0001, 0xffff0002 -- pseudo_header_initial
local IP4_HEADER, IP6_HEADER = 20, 40              -- bytes
local TCP, UDP, UDP_HEADER = 6, 17, 8
local CHECKSUM_AT = {[TCP] = 16, [UDP] = 6}        -- bytes from the header's start

--- The checksum of the bytes, in host order. `initial`, in host order too, is added to
--- their sum: the complement of another checksum goes on with it; a checksum gives 0
--- if it is the right one.
function checksum.ipsum(pointer, length, initial)
  if type(pointer) ~= "cdata" or tonumber(pointer) or type(length) ~= "number"
    or type(initial) ~= "number" then
    check_bytes("ipsum", pointer, length, initial)
  end
  return (C.pg_checksum(pointer, length, band(initial, 0xffff))) -- no tail call
end


--- Write the checksum of the bytes at `offset` into them, where the sum over the pseudo
--- header is: what prepare_packet4 left to do. It is never 0, which UDP takes for none.
function checksum.finish_packet(buffer, length, offset)
  if type(buffer) ~= "cdata" or tonumber(buffer) or type(length) ~= "number"
    or type(offset) ~= "number" then
    check_bytes("finish_packet", buffer, length, offset)
  end
  local sum = sums.udp(C.pg_checksum(buffer, length, 0))
  write16(ffi.cast(bytes_pointer, buffer) + offset, sum)
end

-- Bytes of the IP header and of all that IP's length tells.
local function lengths(p)
  if rshift(p[0], 4) == 4 then
    return band(p[0], 15) * 4, read16(p + 2)
  end
  return IP6_HEADER, IP6_HEADER + read16(p + 4)
end

--- Whether the checksums of IPv4, and TCP or UDP, are right; nil for other protocols.
--- UDP over IPv4 without a checksum is right. Of an IPv4 packet with less than its
--- length tells, what is there counts, as in Snabb.
function checksum.verify_packet(buffer, length)
  if type(buffer) ~= "cdata" or tonumber(buffer) or type(length) ~= "number" then
    check_bytes("verify_packet", buffer, length, 0)
  end
  local initial = C.pseudo_header_initial(ffi.cast(signed_pointer, buffer), length)
  if initial == UNKNOWN then return nil end
  if initial == BAD_HEADER then return false end
  local p = ffi.cast(bytes_pointer, buffer)
  local header, all = lengths(p)
  local is_ip4 = rshift(p[0], 4) == 4
  if all > length then
    if not is_ip4 then return false end
    all = length
  end
  if is_ip4 and p[9] == UDP and all >= header + UDP_HEADER
    and p[header + 6] == 0 and p[header + 7] == 0 then return true end
  return C.pg_checksum(p + header, all - header, initial) == 0
end

-- Write the pseudo header's sum; where the checksum starts and is to be put.
local function prepare(p, length, start, protocol)
  local at = CHECKSUM_AT[protocol]
  local sum = C.pseudo_header_initial(ffi.cast(signed_pointer, p), length)
  if not at or sum > 0xffff or start + at + 2 > length then return nil, nil end
  write16(p + start + at, sum)
  return start, at
end

--- Set the checksum of the IPv4 header, and TCP's or UDP's to the sum over the pseudo
--- header, as virtio wants it. Where the sum to be computed starts and where it goes,
--- from there, in bytes; nil and nil for other protocols.
function checksum.prepare_packet4(buffer, length)
  if type(buffer) ~= "cdata" or tonumber(buffer) or type(length) ~= "number" then
    check_bytes("prepare_packet4", buffer, length, 0)
  end
  local p = ffi.cast(bytes_pointer, buffer)
  if length < IP4_HEADER then return nil, nil end
  local header = band(p[0], 15) * 4
  if header < IP4_HEADER or header > length then return nil, nil end
  write16(p + 10, 0)
  write16(p + 10, C.pg_checksum(p, header, 0))
  return prepare(p, length, header, p[9])
end

--- The same for IPv6.
function checksum.prepare_packet6(buffer, length)
  if type(buffer) ~= "cdata" or tonumber(buffer) or type(length) ~= "number" then
    check_bytes("prepare_packet6", buffer, length, 0)
  end
  local p = ffi.cast(bytes_pointer, buffer)
  if length < IP6_HEADER then return nil, nil end
  return prepare(p, length, IP6_HEADER, p[6])
end

return checksum

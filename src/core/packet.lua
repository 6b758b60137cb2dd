-- SPDX-License-Identifier: Apache-2.0
-- Packets: DPDK's mbufs under Snabb's names. A packet has `length` bytes from
-- `data` on; `data` is worked out from the mbuf (buf_addr + data_off), so read
-- it again after any function here that moves the packet's start.
--
-- At least max_payload bytes are always there from `data` on: a packet whose
-- start would be further in than PACKET_MAX_HEADROOM is moved back.

local ffi = require("ffi")
local C = require("core.native")
local arguments = require("core.lib.arguments")
local mode = require("core.check.mode")
local pool = require("core.pool")

local packet = {}

local HEADROOM = C.PACKET_HEADROOM
local MAX_HEADROOM = C.PACKET_MAX_HEADROOM
local MAX_PAYLOAD = C.PACKET_MAX_PAYLOAD
local REFILL = C.FREELIST_SIZE / 4
local SPILL = C.FREELIST_SIZE / 2
local WIRE_OVERHEAD = 8 + 12 + 4 -- preamble, gap, CRC: bytes a frame, 802.3
local SHORTEST_FRAME = 60

packet.max_payload = tonumber(MAX_PAYLOAD)
packet.default_headroom = tonumber(HEADROOM)
packet.packet_alignment = 64 -- of the mbuf itself
packet.minimum_alignment = 1 -- of `data`

-- What else a packet can be asked by name: lib.stack.packet.buffer adds to it. For what
-- is no method, `properties` has functions of the packet.
local methods, properties = {}, {}
packet.methods, packet.properties = methods, properties

ffi.metatype("struct packet", mode.on
  and require("core.check.fields").metatable(methods, properties) or {
  __index = function (p, key)
    if key == "data" then return p.buf_addr + p.data_off end
    local method = methods[key]
    if method then return method end
    local property = properties[key]
    if property then return property(p) end
    error(("a packet has no field '%s'; it has data and length")
      :format(tostring(key)), 2)
  end,
})

local band, greater = bit.band, math.max
local istype, tonumber, type = ffi.istype, tonumber, type
local Packet = ffi.typeof("struct packet")
local copy, fill = ffi.copy, ffi.fill
ffi.cdef("void *memmove(void *, const void *, size_t);")
local memmove = ffi.C.memmove
local freelist, refill = pool.freelist, pool.refill

-- The sentence for what isn't a packet. Compiled code knows that a packet is one: the
-- tests cost it nothing.
local function no_packet(name, value)
  arguments.refuse("packet." .. name, 1, value, "a packet", 4)
end

--- An empty packet. Raises a failure when every packet of the pool is in use
--- and the pool can't grow.
function packet.allocate()
  if freelist.nfree == 0 and C.pg_freelist_refill(freelist, REFILL) == 0 then
    refill()
  end
  local n = freelist.nfree - 1
  freelist.nfree = n
  return freelist.list[n]
end
local allocate = packet.allocate

--- Count `p` as freed (engine.frees, freebytes, freebits) without freeing it:
--- for an app that hands its memory elsewhere.
function packet.account_free(p)
  local length = p.length
  freelist.frees = freelist.frees + 1
  freelist.freebytes = freelist.freebytes + length
  -- Without a branch: short packets would be a trace of their own, wherever this is.
  freelist.freebits = freelist.freebits
    + (greater(length, SHORTEST_FRAME) + WIRE_OVERHEAD) * 8
end
local account_free = packet.account_free

--- Give the packet back without counting it.
function packet.free_internal(p)
  if freelist.nfree == freelist.max then C.pg_freelist_spill(freelist, SPILL) end
  local n = freelist.nfree
  p.length = 0
  p.data_off = HEADROOM
  p.no_flags = 0 -- those it was received with, or was to be sent with
  freelist.list[n] = p
  freelist.nfree = n + 1
end
local free_internal = packet.free_internal

--- Give the packet back. It must not be used afterwards.
function packet.free(p)
  if not istype(Packet, p) then no_packet("free", p) end
  account_free(p)
  free_internal(p)
end

local int64, uint64 = ffi.typeof("int64_t"), ffi.typeof("uint64_t")

local function no_length(value)
  error(("a packet's length and parts of it are numbers of bytes, not %s"):format(
    arguments.shown(value)), 4)
end

-- What bytes are copied from: a string, a pointer, an array. Its type is known to
-- compiled code.
local function check_source(name, i, pointer)
  if (type(pointer) ~= "cdata" or tonumber(pointer))
    and type(pointer) ~= "string" then
    arguments.refuse(name, i, pointer, "a pointer, an array or a string", 4)
  end
end

-- Written so that NaN fails too.
local function check_length(length)
  if type(length) ~= "number" and not istype(int64, length)
    and not istype(uint64, length) then no_length(length) end
  if not (length >= 0 and length <= MAX_PAYLOAD) then
    error(("a packet can't hold %d bytes: it holds 0 to %d")
      :format(tonumber(length), MAX_PAYLOAD), 3)
  end
end

--- A packet with the `length` bytes at `pointer`.
function packet.from_pointer(pointer, length)
  check_length(length)
  check_source("packet.from_pointer", 1, pointer)
  local p = allocate()
  p.length = length
  copy(p.data, pointer, length)
  return p
end
local from_pointer = packet.from_pointer

--- A packet with the bytes of the string.
function packet.from_string(s)
  if type(s) ~= "string" then
    arguments.refuse("packet.from_string", 1, s, "a string")
  end
  return from_pointer(s, #s)
end

-- Checksums and a tag left to the device (native/dpdk/offload.c has the same mask).
local OFFLOADS = 0x03f0000000000000ULL

local function copy_requests(from, to)
  to.ol_flags = band(from.ol_flags, OFFLOADS)
  to.tx_offload = from.tx_offload
  to.vlan_tci = from.vlan_tci
end

--- A copy of the packet.
function packet.clone(p)
  if not istype(Packet, p) then no_packet("clone", p) end
  local copied = from_pointer(p.data, p.length)
  if band(p.ol_flags, OFFLOADS) ~= 0 then copy_requests(p, copied) end
  return copied
end

local function move_start(p, offset)
  memmove(p.buf_addr + offset, p.data, p.length)
  p.data_off = offset
end

--- Add the `length` bytes at `pointer` behind the packet's last; returns `p`.
function packet.append(p, pointer, length)
  if not istype(Packet, p) then no_packet("append", p) end
  check_length(length)
  check_source("packet.append", 2, pointer)
  check_length(p.length + length)
  copy(p.data + p.length, pointer, length)
  p.length = p.length + length
  return p
end

--- Open `n` bytes, contents undefined, before the first; returns `p`.
function packet.shiftright(p, n)
  if not istype(Packet, p) then no_packet("shiftright", p) end
  check_length(n)
  check_length(p.length + n)
  if p.data_off < n then move_start(p, HEADROOM + n) end
  p.data_off = p.data_off - n
  p.length = p.length + n
  return p
end
local shiftright = packet.shiftright

--- Drop the first `n` bytes; returns `p`.
function packet.shiftleft(p, n)
  if not istype(Packet, p) then no_packet("shiftleft", p) end
  check_length(n)
  if not (n >= 0 and n <= p.length) then
    error(("can't drop %d bytes of a packet of %d"):format(n, p.length), 2)
  end
  p.data_off = p.data_off + n
  p.length = p.length - n
  if p.data_off > MAX_HEADROOM then move_start(p, HEADROOM) end
  return p
end

--- Put the `length` bytes at `pointer` before the packet's first; returns `p`.
function packet.prepend(p, pointer, length)
  if not istype(Packet, p) then no_packet("prepend", p) end
  check_source("packet.prepend", 2, pointer)
  shiftright(p, length)
  copy(p.data, pointer, length)
  return p
end

--- Make the packet `length` bytes long; new bytes are zero. Returns `p`.
function packet.resize(p, length)
  if not istype(Packet, p) then no_packet("resize", p) end
  check_length(length)
  if length > p.length then fill(p.data + p.length, length - p.length) end
  p.length = length
  return p
end

-- What Snabb's programs call about its own pool --------------------------

--- Let the pool grow to `max` packets (default: as it was). Raises an error once
--- there is a pool.
function packet.initialize(max)
  if not max then return end
  if C.pg_pool_size() > 0 then error("freelist is already in use", 2) end
  pool.limit(max)
end

--- Make the pool larger before its packets are needed.
function packet.preallocate_step()
  pool.create()
  pool.grow()
end

packet.new_packet = packet.allocate

--- Does nothing: packets don't leave their process, and interlinks copy them.
function packet.enable_group_freelist() end

if mode.on then require("core.check.packets").guard(packet, pool) end

return packet

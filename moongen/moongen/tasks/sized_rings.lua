-- SPDX-License-Identifier: Apache-2.0
-- Rings between tasks that hold so many packets, or so many bytes, and no more: a
-- link's queue, for link emulators, as the libmoon of tumi8 and of brentondwalker has
-- it (pipe.lua). One task sends, one receives. What has no room is freed and counted;
-- there it is left to the sender, whose scripts forget it.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local eal = require("core.eal")
local integer = require("moongen.integer")
local locks = require("moongen.locks")

local sized_rings = {}

-- `sent` and `dropped` are written by the sender alone, `taken` by the receiver: bytes.
ffi.cdef[[
struct mg_sized_ring {
  void *packets;
  double capacity;           /* packets, or bytes */
  bool of_bytes;
  uint64_t sent, dropped, taken;
};
]]

local MOST = 2 ^ 26          -- packets of a ring
local MOST_BYTES = 2 ^ 32
local SHORTEST = 60          -- bytes of a packet

local made = {}

--- A ring (struct mg_sized_ring *) for `capacity` packets, or bytes if `of_bytes`, on
--- the NUMA node `socket` (-1: any); `what` is its name in errors. It stays until the
--- end, as other tasks may have it.
function sized_rings.new(what, capacity, of_bytes, socket)
  capacity = integer(what .. ": capacity", capacity, of_bytes and SHORTEST or 1,
    of_bytes and MOST_BYTES or MOST)
  if socket ~= nil then integer(what .. ": socket", socket, -1, 1023) end
  eal.start()
  local size = of_bytes and math.min(math.ceil(capacity / SHORTEST), MOST) or capacity
  local packets = C.pg_packet_ring_new(size, socket or -1, false)
  if packets == nil then error("no memory for a packet ring", 3) end
  local ring = locks.memory("struct mg_sized_ring")
  ring.packets, ring.capacity, ring.of_bytes = packets, capacity, of_bytes
  made[#made + 1] = ring
  return ring
end

--- Bytes that are in it.
function sized_rings.bytes(ring) return tonumber(ring.sent - ring.taken) end

-- What fits comes to the front of the array, in its order; how many, and their bytes.
-- Behind a packet that is too long a shorter one may fit.
local function fitting(ring, array, n)
  local room = C.pg_packet_ring_room(ring.packets)
  local left = ring.of_bytes and ring.capacity - sized_rings.bytes(ring) or math.huge
  local fit, bytes = 0, 0
  for i = 0, n - 1 do
    local p = array[i]
    if p == nil then error(("slot %d of the array has no buffer"):format(i + 1), 4) end
    local length = p.data_len
    if fit < room and length <= left then
      array[i], array[fit] = array[fit], p
      fit, left, bytes = fit + 1, left - length, bytes + length
    end
  end
  return fit, bytes
end

--- Send the first `n` of the buffers: how many had room. None is the sender's any more.
function sized_rings.put(ring, bufs, n)
  local array = bufs.array
  local fit, bytes = fitting(ring, array, n)
  for i = fit, n - 1 do C.mg_free_one(array[i]) end
  ring.dropped = ring.dropped + (n - fit)
  ring.sent = ring.sent + bytes
  if fit > 0 then C.pg_packet_ring_put(ring.packets, array, fit) end
  return fit
end

--- Receive up to `n` packets: how many.
function sized_rings.take(ring, bufs, n)
  C.mg_give_wanted_caches()
  local array = bufs.array
  n = C.pg_packet_ring_take(ring.packets, array, n)
  local bytes = 0
  for i = 0, n - 1 do bytes = bytes + array[i].data_len end
  ring.taken = ring.taken + bytes
  return n
end

--- What was lost in the rings that this Lua state made: a list of {where, packets,
--- reason}. They are emptied.
function sized_rings.losses()
  local list = {}
  for i, ring in ipairs(made) do
    local where = ("Ring %d (%d %s)"):format(i, ring.capacity,
      ring.of_bytes and "bytes" or "packets")
    local dropped, left = tonumber(ring.dropped), C.pg_packet_ring_free(ring.packets)
    if dropped > 0 then
      list[#list + 1] = {where = where, packets = dropped, reason = "it had no room"}
    end
    if left > 0 then
      list[#list + 1] = {where = where, packets = left,
        reason = "not received when the script ended"}
    end
  end
  made = {}
  return list
end

return sized_rings

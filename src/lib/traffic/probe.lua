-- SPDX-License-Identifier: Apache-2.0
-- The record by which a packet is known again where it is received: 18 bytes behind the
-- last header, as much as a shortest frame of UDP over IPv4 has room for.

local ffi = require("ffi")

local bswap = bit.bswap

local M = {}

-- In network byte order. `time` is the sender's time stamp counter: all processes and
-- CPUs of one machine read the same one (Intel SDM volume 3, section 18.17.1, invariant
-- TSC), however they convert it to seconds. Or it is another clock's, for another
-- machine (lib.traffic.real_clock).
ffi.cdef[[
struct perigee_probe {
  uint16_t magic;
  uint64_t number;
  uint64_t time;
} __attribute__((packed));
]]

local probe_ptr = ffi.typeof("const struct perigee_probe *")
local cast = ffi.cast

--- Its size in bytes.
M.SIZE = ffi.sizeof("struct perigee_probe")

--- The packets of stream s (from 0) have the numbers from s * SPAN on. (Bit operations
--- are exact below 2^51: for 128 streams.)
M.SPAN = 2^44

--- "PG", as it is read on a little-endian machine.
M.MAGIC = 0x4750
local MAGIC = M.MAGIC
local EXACT = 2^53

--- Write the parts that are the same in all packets.
function M.prepare(pointer)
  ffi.cast("struct perigee_probe *", pointer).magic = MAGIC
end

--- The number of the packet whose record would be at `pointer`, and its time (uint64_t,
--- ticks); nil if there is none. The bytes must be there.
function M.read(pointer)
  local probe = cast(probe_ptr, pointer)
  if probe.magic ~= MAGIC then return nil end
  local number = tonumber(bswap(probe.number))
  if number > EXACT then return nil end
  return number, bswap(probe.time)
end

return M

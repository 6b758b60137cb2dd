-- SPDX-License-Identifier: Apache-2.0
-- IPv4 packets cut into fragments; C does it (cut.c).

local ffi = require("ffi")
local C = require("core.declare")("net/fragment/fragment.h")
local pool = require("core.pool")

local freelist = pool.freelist
local array_t = ffi.typeof("struct packet *[?]")

local cut = {}

--- Room for the fragments of a packet.
function cut.room() return array_t(C.FRAGMENTS_MAX) end

--- Cut the packet as pg_ip4_cut does: `p` becomes the first fragment, `rest` (of
--- room()) has the others. How many those are; C.FRAGMENT_NO_PACKETS, and `p` as it
--- was, if there are too few packets. Raises a failure if there are none.
function cut.ip4(p, at, link, mtu, units, headroom, rest)
  local n = C.pg_ip4_cut(freelist, p, at, link, mtu, units, headroom, rest)
  if n ~= C.FRAGMENT_NO_PACKETS then return n end
  pool.refill()
  return (C.pg_ip4_cut(freelist, p, at, link, mtu, units, headroom, rest))
end

return cut

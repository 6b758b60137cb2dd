-- SPDX-License-Identifier: Apache-2.0
-- IPv4 and IPv6 packets cut into fragments; C does it (cut.c).

local ffi = require("ffi")
local C = require("core.declare")("net/fragment/fragment.h")
local pool = require("core.pool")

local freelist = pool.freelist
local array_t = ffi.typeof("struct packet *[?]")

local cut = {}

--- Room for the fragments of a packet.
function cut.room() return array_t(C.FRAGMENTS_MAX) end

--- Cut the packet as pg_ip4_cut does: `p` becomes the first fragment, `rest` (of
--- room()) has the others; how many those are. Raises a failure, and `p` is as it was,
--- if there aren't enough packets.
function cut.ip4(p, at, link, mtu, units, headroom, rest)
  local n = C.pg_ip4_cut(freelist, p, at, link, mtu, units, headroom, rest)
  while n == C.FRAGMENT_NO_PACKETS do
    pool.refill() -- or raise it
    n = C.pg_ip4_cut(freelist, p, at, link, mtu, units, headroom, rest)
  end
  return n
end

--- The same of an IPv6 packet, whose header is `link` bytes from its beginning: as
--- pg_ip6_cut does.
function cut.ip6(p, link, mtu, id, headroom, rest)
  local n = C.pg_ip6_cut(freelist, p, link, mtu, id, headroom, rest)
  while n == C.FRAGMENT_NO_PACKETS do
    pool.refill()
    n = C.pg_ip6_cut(freelist, p, link, mtu, id, headroom, rest)
  end
  return n
end

return cut

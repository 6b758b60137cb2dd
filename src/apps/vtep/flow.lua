-- SPDX-License-Identifier: Apache-2.0
-- The inner flow of a frame: a hash for the outer UDP source port, so that routers and
-- network cards spread flows and keep each in order (RFC 7348, section 5), and the
-- inner DSCP and ECN byte. In C, for frames are of many kinds.

local C = require("core.declare")("apps/vtep/vtep.h")

local band, bor, rshift = bit.band, bit.bor, bit.rshift
local pg_flow = C.pg_flow

local flow = {}

local FIRST, COUNT = 49152, 16384
--- The lowest source port and the number of them (RFC 7348: the dynamic ports).
flow.FIRST, flow.COUNT = FIRST, COUNT

--- Of the Ethernet frame of `length` bytes at `data` (at least 14) a hash of its flow
--- (24 bits: addresses, protocol and TCP's or UDP's ports; the MAC addresses if it
--- isn't IP), and its DSCP and ECN byte (0 if it isn't IP).
function flow.of(data, length)
  local both = pg_flow(data, length)
  return rshift(both, 8), band(both, 255)
end

--- The UDP source port for a flow's hash.
function flow.port(hash)
  return (bor(band(hash, COUNT - 1), FIRST))
end

return flow

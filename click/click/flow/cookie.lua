-- SPDX-License-Identifier: Apache-2.0
-- Cookies of load balancers within TCP's timestamps (RFC 7323): the upper 16 bits of a
-- server's TSval, which come back as the client's TSecr (Barbette et al.: A High-Speed
-- Load-Balancer Design with Guaranteed Per-Connection-Consistency, NSDI 2020).

local bit = require("bit")
local C = require("core.declare")("native/tcp_timestamp.h")
local ends = require("core.declare")("native/flow_ends.h")

local cookie = {}

local band, bor, bxor, lshift, rshift = bit.band, bit.bor, bit.bxor, bit.lshift,
  bit.rshift
local CLOCK, LOW, SHIFT = 0xffff, 0x7fff, 16

cookie.NUMBERS = 32768 -- cookies have 15 bits; one more says which upper half

cookie.read, cookie.write = C.pg_tcp_timestamp, C.pg_tcp_set_timestamp

--- The cookie of a timestamp, and the bit above it.
function cookie.of(stamp) return band(rshift(stamp, SHIFT), LOW), rshift(stamp, 31) end

--- The timestamp with that cookie and bit in the place of its upper half.
function cookie.put(stamp, number, version)
  return bor(band(stamp, CLOCK), lshift(bor(number, lshift(version, 15)), SHIFT))
end

--- The upper half of a timestamp, where it is; and a timestamp with another one.
function cookie.upper(stamp) return band(stamp, 0xffff0000) end
function cookie.with_upper(stamp, upper) return bor(band(stamp, CLOCK), upper) end

local connection = require("ffi").new("struct click_flow_ends")

--- 15 bits of the connection between a client and a service, which balancers that give
--- it another server's address don't change. `tuple` is the struct click_flow_ends of a
--- packet of TCP; `from_server`: which way it goes.
function cookie.hash(tuple, from_server)
  local c = connection
  c.protocol = tuple.protocol
  if from_server then
    c.source, c.sport, c.dport = tuple.destination, tuple.dport, tuple.sport
  else
    c.source, c.sport, c.dport = tuple.source, tuple.sport, tuple.dport
  end
  local crc = ends.pg_flow_crc(c)
  return band(bxor(crc, rshift(crc, 15)), LOW)
end

return cookie

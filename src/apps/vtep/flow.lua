-- SPDX-License-Identifier: Apache-2.0
-- The inner flow of a frame: a hash for the outer UDP source port, so that routers and
-- network cards spread flows and keep each in order (RFC 7348, section 5), and the
-- inner DSCP and ECN byte. Reads nothing behind the frame's length.

local ffi = require("ffi")
local mix = require("apps.vtep.mix")()

local band, bor, bxor, lshift, rol, rshift, tobit =
  bit.band, bit.bor, bit.bxor, bit.lshift, bit.rol, bit.rshift, bit.tobit

local flow = {}

local word_t = ffi.typeof("const int32_t *")
local TYPE, ETHERNET, IP4, IP6 = 12, 14, 20, 40 -- Ethernet's type; bytes of headers
local TCP, UDP = 6, 17
local PORTS = 4 -- bytes

--- The lowest source port and the number of them (RFC 7348: the dynamic ports).
local FIRST, COUNT = 49152, 16384
flow.FIRST, flow.COUNT = FIRST, COUNT

-- The ports at `offset`, where there are some, and the protocol.
local function ports(data, length, offset, protocol)
  if (protocol == TCP or protocol == UDP) and length >= offset + PORTS then
    return (tobit(bxor(ffi.cast(word_t, data + offset)[0], protocol)))
  end
  return protocol
end

local function of_ip4(data, length)
  local protocol, at = data[ETHERNET + 9], ffi.cast(word_t, data + ETHERNET + 12)
  -- Fragments have ports only in the first: they go without.
  local fragment = bor(band(data[ETHERNET + 6], 0x3f), data[ETHERNET + 7])
  if fragment == 0 then
    local offset = tobit(ETHERNET + lshift(band(data[ETHERNET], 15), 2))
    protocol = ports(data, length, offset, protocol)
  end
  return (mix(at[0], at[1], protocol))
end

local function of_ip6(data, length)
  local w = ffi.cast(word_t, data + ETHERNET + 8)
  local a = bxor(bxor(w[0], rol(w[1], 8)), bxor(rol(w[2], 16), rol(w[3], 24)))
  local b = bxor(bxor(w[4], rol(w[5], 8)), bxor(rol(w[6], 16), rol(w[7], 24)))
  return (mix(a, b, ports(data, length, ETHERNET + IP6, data[ETHERNET + 6])))
end

--- Of the Ethernet frame of `length` bytes at `data` (at least 14) a hash of its flow
--- (signed 32 bits: addresses, protocol and TCP's or UDP's ports; the MAC addresses if
--- it isn't IP), and its DSCP and ECN byte (0 if it isn't IP).
function flow.of(data, length)
  local kind = tobit(data[TYPE] * 256 + data[TYPE + 1])
  if kind == 0x0800 and length >= ETHERNET + IP4 then
    return of_ip4(data, length), data[ETHERNET + 1]
  elseif kind == 0x86dd and length >= ETHERNET + IP6 then
    local version, class = data[ETHERNET], data[ETHERNET + 1]
    return of_ip6(data, length), bor(lshift(band(version, 15), 4), rshift(class, 4))
  end
  local w = ffi.cast(word_t, data)
  return mix(w[0], w[1], bxor(w[2], kind)), 0
end

--- The UDP source port for a flow's hash.
function flow.port(hash)
  return (bor(band(hash, COUNT - 1), FIRST))
end

return flow

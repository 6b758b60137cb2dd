-- SPDX-License-Identifier: Apache-2.0
-- Numbers in network order at a pointer to bytes. All as bytes: accesses of several
-- widths to the same bytes LuaJIT may reorder. These are compiled into the loops that
-- call them: code that isn't compiled (jit.off) may not, or LuaJIT gives them up.

local ffi = require("ffi")

local band, bor, lshift, rshift = bit.band, bit.bor, bit.lshift, bit.rshift
local copy = ffi.copy

local bytes = {}

--- The number of 16 bits at `p`. By bits: LuaJIT would multiply in floating point.
function bytes.read16(p) return bor(lshift(p[0], 8), p[1]) end

--- The number of 32 bits at `p`, from 0 to 2^32 - 1.
function bytes.read32(p)
  return ((p[0] * 256 + p[1]) * 256 + p[2]) * 256 + p[3]
end

--- The number of 48 bits at `p`: an Ethernet address.
function bytes.read48(p)
  return (((((p[0] * 256 + p[1]) * 256 + p[2]) * 256 + p[3]) * 256 + p[4]) * 256) + p[5]
end

--- Write the lower 16 bits of `value` to the two bytes at `p`.
function bytes.write16(p, value)
  p[0], p[1] = band(rshift(value, 8), 0xff), band(value, 0xff)
end

--- Write the lower 32 bits of `value` to the four bytes at `p`.
function bytes.write32(p, value)
  p[0], p[1] = band(rshift(value, 24), 0xff), band(rshift(value, 16), 0xff)
  p[2], p[3] = band(rshift(value, 8), 0xff), band(value, 0xff)
end

--- Write the number of 48 bits to the six bytes at `p`.
function bytes.write48(p, value)
  bytes.write16(p, math.floor(value / 2^32))
  bytes.write32(p + 2, value % 2^32)
end

local MOST = 16
local kept = ffi.new("uint8_t[?]", MOST)

--- Exchange the `n` bytes, up to 16, at the pointers `p` and `q`. Without a loop: it
--- would be one within that over packets.
function bytes.swap(p, q, n)
  copy(kept, p, n)
  copy(p, q, n)
  copy(q, kept, n)
end

local function byte_of(digits) return string.char(tonumber(digits, 16)) end

--- The bytes, a string, that pairs of hexadecimal digits stand for; white space is left
--- out, and other characters stay.
function bytes.from_hex(text)
  return (text:gsub("%s", ""):gsub("%x%x", byte_of))
end

return bytes

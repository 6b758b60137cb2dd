-- SPDX-License-Identifier: Apache-2.0
-- The second half of decapsulation, whatever the underlay: where the inner source is
-- seen, and the frame without its outer headers, with the VLAN tag of its VNI.

local ffi = require("ffi")
local ecn = require("apps.vtep.ecn")
local fdb = require("apps.vtep.fdb")
local packet = require("core.packet")

local deliver = {}

local TAG = 4 -- bytes
local REMOTE = fdb.STATIC - 1
local word_t, half_t = ffi.typeof("int32_t *"), ffi.typeof("const uint16_t *")
local band, bor, lshift, rshift, tobit =
  bit.band, bit.bor, bit.lshift, bit.rshift, bit.tobit
local shiftleft = packet.shiftleft

-- A sighting for the digest: this key, from a remote whose address is at `from`.
local function note(digest, room, a, b, from, words)
  local n = digest.n
  if n >= room then
    digest.missed = digest.missed + 1
    return
  end
  local record = digest.of[n]
  record.a, record.b, record.from[0] = a, b, from[0]
  if words == 4 then
    record.from[1], record.from[2], record.from[3] = from[1], from[2], from[3]
  end
  digest.n = tobit(n + 1)
end

--- See the frame at `data` in the VNI of number `index`, from the remote whose address
--- is at `from`: `same(peer, from)` compares addresses of `words` words. An entry
--- that says so is refreshed; else it is noted for the digest. False, and nothing is
--- noted, if the remote must be known and isn't.
function deliver.see(self, data, index, from, same, words)
  local t = self.fdb
  local a = ffi.cast(word_t, data + 6)[0]
  local b = bor(ffi.cast(half_t, data + 10)[0], lshift(index, 16))
  local slot = t:find(a, b)
  if slot >= 0 and same(self.remotes[band(t.slot[slot].remote, REMOTE)].peer, from) then
    t.slot[slot].seen = self.digest.now
    return true
  end
  if self.strict and not self.known[ffi.string(from, words * 4)] then return false end
  if self.learn then note(self.digest, self.room, a, b, from, words) end
  return true
end

--- The packet as the frame of `length` bytes at offset `at` of its data, with the tag
--- of `vlan` (0: none). At least 14 bytes lie before it.
function deliver.strip(p, at, length, vlan)
  if vlan == 0 then
    p = shiftleft(p, at)
    p.length = length
    return p
  end
  local w = ffi.cast(word_t, p.data + at)
  local w0, w1, w2 = w[0], w[1], w[2]
  w[-1], w[0], w[1] = w0, w1, w2
  -- 81 00 and the VLAN in network order
  w[2] = bor(0x81, lshift(rshift(vlan, 8), 16), lshift(band(vlan, 255), 24))
  p = shiftleft(p, tobit(at - TAG))
  p.length = tobit(length + TAG)
  return p
end

--- Does the frame begin with a VLAN tag (IEEE 802.1Q: C-tag or S-tag)?
function deliver.tagged(data)
  local kind = bor(lshift(data[12], 8), data[13])
  return kind == 0x8100 or kind == 0x88a8
end

--- Carry a mark of the outer `tos` byte over; false: the packet must be dropped.
function deliver.marked(data, length, tos)
  return band(tos, 1) == 0 or ecn.carry_over(data, length, band(tos, 3))
end

return deliver

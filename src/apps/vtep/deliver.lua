-- SPDX-License-Identifier: Apache-2.0
-- The second half of decapsulation, whatever the underlay: where the inner source is
-- seen, and the frame without its outer headers, with the VLAN tag of its VNI.

local ffi = require("ffi")
local fdb = require("apps.vtep.fdb")
local packet = require("core.packet")

local deliver = {}

local TAG = 4 -- bytes
local REMOTE = fdb.STATIC - 1
local word_t, half_t = ffi.typeof("int32_t *"), ffi.typeof("const uint16_t *")
local band, bnot, bor, bxor, lshift, tobit =
  bit.band, bit.bnot, bit.bor, bit.bxor, bit.lshift, bit.tobit
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

-- Do two addresses of this many words agree?
local function same(one, other, words)
  local differing = bxor(one[0], other[0])
  if words == 1 then return differing == 0 end
  return bor(bor(differing, bxor(one[1], other[1])),
             bor(bxor(one[2], other[2]), bxor(one[3], other[3]))) == 0
end

--- See the frame at offset `at` of a packet's data, in the VNI of number `index`, come
--- from the packet's remote. An entry that says so is refreshed; else it is noted for
--- the digest. False if the remote must be known and isn't.
function deliver.see(self, data, at, index)
  local t, words = self.fdb, self.words
  local from = ffi.cast(word_t, data + self.source)
  local a = ffi.cast(word_t, data + at + 6)[0]
  local b = bor(ffi.cast(half_t, data + at + 10)[0], lshift(index, 16))
  local slot = t:find(a, b)
  if slot >= 0 then
    local entry = t.slot + slot
    if same(self.remotes[band(entry.remote, REMOTE)].peer, from, words) then
      entry.seen = self.digest.now
      return true
    end
  end
  if self.strict and not self.known[ffi.string(from, words * 4)] then return false end
  if self.learn then note(self.digest, self.room, a, b, from, words) end
  return true
end

--- The packet as the frame of `length` bytes at offset `at` of its data, with the tag
--- of `vni`, an element of a tunnel's `vnis`, if it has one. At least 14 bytes lie
--- before the frame. Without a branch: where there is no tag, what was there is
--- written again.
function deliver.strip(p, at, length, vni)
  local mask = vni.mask
  local size = band(mask, TAG)
  local from = ffi.cast(word_t, p.data + at)
  local to = ffi.cast(word_t, p.data + at - size)
  local w0, w1, w2, behind = from[0], from[1], from[2], to[3]
  to[0], to[1], to[2] = w0, w1, w2
  to[3] = bor(band(behind, bnot(mask)), band(vni.tag, mask))
  p = shiftleft(p, tobit(at - size))
  p.length = tobit(length + size)
  return p
end

return deliver

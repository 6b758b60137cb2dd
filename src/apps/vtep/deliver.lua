-- SPDX-License-Identifier: Apache-2.0
-- The second half of decapsulation, whatever the underlay: noting where an inner source
-- is seen first, and the frame without its outer headers, with the VLAN tag of its VNI.

local ffi = require("ffi")
local packet = require("core.packet")

local deliver = {}

local TAG = 4 -- bytes
local word_t, half_t = ffi.typeof("int32_t *"), ffi.typeof("const uint16_t *")
local band, bnot, bor, lshift, tobit =
  bit.band, bit.bnot, bit.bor, bit.lshift, bit.tobit
local shiftleft = packet.shiftleft

-- A sighting for the digest: this key, from a remote whose address is at `from`, which
-- `uncounted` bytes weren't counted for.
local function note(digest, room, a, b, from, words, uncounted)
  local n = digest.n
  if n >= room then
    digest.missed = digest.missed + 1
    return
  end
  local record = digest.of[n]
  record.a, record.b, record.from[0] = a, b, from[0]
  record.uncounted = uncounted
  if words == 4 then
    record.from[1], record.from[2], record.from[3] = from[1], from[2], from[3]
  end
  digest.n = tobit(n + 1)
end

--- The frame at offset `at` of a packet's data, in the VNI of number `index`, is news:
--- the forwarding table doesn't say that its source is behind the packet's remote. That
--- is noted for the digest; `uncounted`: the frame's length if the remote isn't known.
function deliver.learn(self, data, at, index, uncounted)
  if not self.settings.learn then return end
  local a = ffi.cast(word_t, data + at + 6)[0]
  local b = bor(ffi.cast(half_t, data + at + 10)[0], lshift(index, 16))
  local from = ffi.cast(word_t, data + self.source)
  note(self.digest, self.room, a, b, from, self.words, uncounted)
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

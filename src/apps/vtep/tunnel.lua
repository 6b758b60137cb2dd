-- SPDX-License-Identifier: Apache-2.0
-- What the apps of one tunnel end point share: the forwarding table, the remotes, the
-- VNIs and their VLANs, and the digest: what decapsulation saw and the table doesn't
-- say yet. The packet path only reads tables and appends to the digest; Host learns
-- from it, a breath later at most.

local ffi = require("ffi")
local failure = require("core.failure")
local fdb = require("apps.vtep.fdb")
local Remotes = require("apps.vtep.remotes")
local settings = require("apps.vtep.settings")

local Tunnel = {}
Tunnel.__index = Tunnel

local DIGEST = 256 -- sightings, a breath
local LEAF = 4096 -- VNIs of which the upper 12 bits agree

local vnis_t = ffi.typeof("struct vxlan_vni[?]")
local digest_t = ffi.typeof([[struct {
  int32_t n, missed, now, unused;
  struct { int32_t a, b, from[4]; } of[?];
}]])

-- 802.1Q: 81 00 and the VLAN in network order.
local function tag_of(vlan)
  local bytes = ffi.new("union { uint8_t bytes[4]; int32_t word; }")
  bytes.bytes = {0x81, 0, math.floor(vlan / 256), vlan % 256}
  return bytes.word
end

-- Numbers of VNIs (from 1) by VNI, in two steps: leaf[page[vni / 4096] + vni % 4096].
local function index_vnis(self, list)
  local pages, leaves = {}, 0
  for _, item in ipairs(list) do
    local page = math.floor(item.vni / LEAF)
    if not pages[page] then
      leaves = leaves + 1
      pages[page] = leaves
    end
  end
  self.page = ffi.new("int32_t[?]", LEAF)
  self.leaf = ffi.new("int16_t[?]", (leaves + 1) * LEAF)
  for page, leaf in pairs(pages) do self.page[page] = leaf * LEAF end
  self.vnis = ffi.new(vnis_t, #list + 1)
  self.by_vlan = ffi.new("int32_t[4096]")
  for i, item in ipairs(list) do
    self.vnis[i].vni, self.vnis[i].mask = item.vni, item.vlan > 0 and -1 or 0
    self.vnis[i].tag = tag_of(item.vlan)
    self.by_vlan[item.vlan] = i
    self.leaf[self.page[math.floor(item.vni / LEAF)] + item.vni % LEAF] = i
  end
end

-- The remotes to flood to, by number of the VNI: {n =, remote =}.
local function flood_lists(self, s)
  self.flood = {}
  for i, item in ipairs(s.vnis) do
    local list, listed = {}, {}
    for _, r in ipairs(s.remotes) do
      local n = self.remotes:add(r.address, r.mac, true)
      if (not r.vnis or r.vnis[item.vni]) and not listed[n] then
        list[#list + 1], listed[n] = n, true
      end
    end
    self.flood[i] = {n = #list, remote = ffi.new("int32_t[?]", #list + 1)}
    for k, n in ipairs(list) do self.flood[i].remote[k - 1] = n end
    self.vnis[i].only = #list == 1 and list[1] or 0
  end
end

--- The two words of a table key for a MAC address (6 bytes) and a VNI's number.
function Tunnel.key(mac, index)
  local words = ffi.new("union { uint8_t bytes[8]; int32_t word[2]; }")
  ffi.copy(words.bytes, mac, 6)
  return words.word[0], bit.bor(words.word[1], bit.lshift(index, 16))
end

--- The number of a VNI, or 0.
function Tunnel:index(vni)
  return self.leaf[self.page[math.floor(vni / LEAF)] + vni % LEAF]
end

--- A tunnel with the settings `arg` (see the README), which are checked here.
function Tunnel.new(arg)
  local s = settings.check(arg)
  local self = setmetatable({
    settings = s, family = s.family, fdb = fdb.new(s.capacity, arg.seed),
    remotes = Remotes.new(s), digest = digest_t(DIGEST), digest_room = DIGEST,
  }, Tunnel)
  index_vnis(self, s.vnis)
  flood_lists(self, s)
  for _, entry in ipairs(s.statics) do
    local n = self.remotes:add(entry.remote.address, entry.remote.mac, true)
    local a, b = Tunnel.key(entry.mac, self:index(entry.vni))
    if not self.fdb:insert(a, b, n, 0, true) then
      failure.usage("there is no room for the static entry of %s; let capacity be more "
        .. "than %d", settings.text(entry.mac), s.capacity)
    end
  end
  return self
end

return Tunnel

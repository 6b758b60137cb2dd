-- SPDX-License-Identifier: Apache-2.0
-- The VNIs of a tunnel and their VLANs. Each has a number, from 1, which keys of the
-- forwarding table hold; it keeps it for as long as it is there. The packet path reads
-- the arrays, which stay where they are, but for `leaf`.

local ffi = require("ffi")
local counts = require("apps.vtep.counts")

local Vnis = {}
Vnis.__index = Vnis

local LEAF = 4096 -- VNIs of which the upper 12 bits agree
local MOST = 8191 -- numbers: twice as many as there are VLANs, to change all at once

local array_t = ffi.typeof("struct vxlan_vni[?]")

--- No VNIs yet. `gone` has the counts of those that were there once.
function Vnis.new()
  local self = setmetatable({
    array = ffi.new(array_t, MOST + 1), most = MOST, number = {}, free = {},
    page = ffi.new("int32_t[?]", LEAF), by_vlan = ffi.new("int32_t[4096]"),
    gone = counts.new(),
    named = function () end, -- called with a number, and its VNI or nil
  }, Vnis)
  for i = MOST, 1, -1 do table.insert(self.free, i) end
  return self
end

-- 802.1Q: 81 00 and the VLAN in network order.
local function tag_of(vlan)
  local bytes = ffi.new("union { uint8_t bytes[4]; int32_t word; }")
  bytes.bytes = {0x81, 0, math.floor(vlan / 256), vlan % 256}
  return bytes.word
end

-- Numbers by VNI, in two steps: leaf[page[vni / 4096] + vni % 4096].
local function index(self)
  local pages, leaves = {}, 0
  ffi.fill(self.page, ffi.sizeof(self.page))
  for vni in pairs(self.number) do
    local page = math.floor(vni / LEAF)
    if not pages[page] then
      leaves = leaves + 1
      pages[page], self.page[page] = true, leaves * LEAF
    end
  end
  self.leaf = ffi.new("int16_t[?]", (leaves + 1) * LEAF)
  for vni, number in pairs(self.number) do
    self.leaf[self.page[math.floor(vni / LEAF)] + vni % LEAF] = number
  end
end

-- Forget those that aren't in the list: their numbers, which others get from now on.
local function remove_others(self, list)
  local kept, removed = {}, {}
  for _, item in ipairs(list) do kept[item.vni] = true end
  for vni, number in pairs(self.number) do
    if not kept[vni] then
      removed[#removed + 1] = number
      counts.move(self.gone, self.array[number].counts)
      self.number[vni] = nil
      self.named(number, nil)
    end
  end
  return removed
end

--- Have the VNIs of the list of {vni =, vlan =} and no others. Returns the numbers of
--- those that are gone; they are used again only by the next call.
function Vnis:set(list)
  local removed = remove_others(self, list)
  ffi.fill(self.by_vlan, ffi.sizeof(self.by_vlan))
  for _, item in ipairs(list) do
    local number = self.number[item.vni] or table.remove(self.free)
    if not self.number[item.vni] then self.named(number, item.vni) end
    self.number[item.vni], self.by_vlan[item.vlan] = number, number
    local vni = self.array[number]
    vni.vni, vni.mask, vni.tag = item.vni, item.vlan > 0 and -1 or 0, tag_of(item.vlan)
  end
  for _, number in ipairs(removed) do table.insert(self.free, 1, number) end
  index(self)
  return removed
end

return Vnis

-- SPDX-License-Identifier: Apache-2.0
-- The other ends of a tunnel: for each an outer header ready to be copied in front of
-- frames, and whether the Ethernet address it goes to is known. Remotes that are
-- learned are forgotten with their last forwarding entry; those of the settings stay.

local bit = require("bit")
local ffi = require("ffi")
require("core.declare")("apps/vtep/vtep.h") -- declares struct vtep_remote
local header = require("apps.vtep.header")
local settings = require("apps.vtep.settings")

local Remotes = {}
Remotes.__index = Remotes

local array_t = ffi.typeof("struct vtep_remote[?]")

--- No remotes yet, with room for `s.max_remotes` (`s`: settings.check).
function Remotes.new(s)
  local self = setmetatable({
    settings = s, array = array_t(s.max_remotes + 1), last = s.max_remotes,
    number = {}, address = {}, fixed = {}, uses = {}, free = {}, waiting = {}, hop = {},
  }, Remotes)
  for n = s.max_remotes, 1, -1 do table.insert(self.free, n) end
  return self
end

-- The address that ARP or ND must find to reach `address`; nil if there is no way.
local function next_hop(s, address)
  if settings.same_network(address, s.address, s.prefix) then return address end
  return s.gateway
end

--- The number of the remote with this address (bytes), which is made if there is
--- room; or nil. With `mac` (bytes) it needs no resolution; `fixed` ones stay.
function Remotes:add(address, mac, fixed)
  local n = self.number[address]
  if n then
    self.fixed[n] = self.fixed[n] or fixed
    if mac then self:set_mac(n, mac) end
    return n
  end
  local hop = next_hop(self.settings, address)
  if not (hop or mac) or #self.free == 0 then return nil end
  n = table.remove(self.free)
  self.number[address], self.address[n], self.fixed[n] = n, address, fixed
  self.uses[n], self.hop[n] = 0, hop
  local r = self.array[n]
  local bytes, sum, pseudo = header.make(self.settings, settings.text(address))
  ffi.copy(r.header, bytes, #bytes)
  ffi.fill(r.peer, 16)
  ffi.copy(r.peer, address, #address)
  r.sum, r.pseudo, r.ready = sum, pseudo, 0
  if mac then
    self.hop[n] = nil
    self:set_mac(n, mac)
  else
    self.waiting[hop] = self.waiting[hop] or {}
    self.waiting[hop][n] = true
  end
  return n
end

--- Send to remote `n` by this Ethernet address (bytes); nil: it isn't known any more.
function Remotes:set_mac(n, mac)
  local r = self.array[n]
  if mac then ffi.copy(r.header, mac, 6) end
  r.ready = mac and 1 or 0
end

--- The next hop `hop` (bytes) has this Ethernet address, or none any more (nil).
function Remotes:resolved(hop, mac)
  for n in pairs(self.waiting[hop] or {}) do self:set_mac(n, mac) end
end

--- A forwarding entry now leads to remote `n`, or (-1) does so no more. The last
--- one of a learned remote takes it along.
function Remotes:use(n, change)
  self.uses[n] = self.uses[n] + change
  if self.uses[n] > 0 or self.fixed[n] then return end
  local hop = self.hop[n]
  if hop then
    self.waiting[hop][n] = nil
    if next(self.waiting[hop]) == nil then self.waiting[hop] = nil end
  end
  self.number[self.address[n]] = nil
  self.address[n], self.hop[n] = nil, nil
  self.array[n].ready = 0
  ffi.fill(self.array[n].peer, 16)
  table.insert(self.free, n)
end

--- How many there are, and how many of them can be sent to.
function Remotes:count()
  local all, ready = 0, 0
  for n in pairs(self.address) do
    all = all + 1
    ready = ready + bit.tobit(self.array[n].ready)
  end
  return all, ready
end

return Remotes

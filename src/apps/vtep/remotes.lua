-- SPDX-License-Identifier: Apache-2.0
-- The other ends of a tunnel: for each an outer header ready to be copied in front of
-- frames, and whether the Ethernet address it goes to is known. Remotes that are
-- learned are forgotten with their last forwarding entry (`gone` then has their
-- counts); those of the settings stay.

local bit = require("bit")
local ffi = require("ffi")
local C = require("core.declare")("apps/vtep/vtep.h")
local counts = require("apps.vtep.counts")
local header = require("apps.vtep.header")
local addresses = require("net.address.address")
local settings = require("apps.vtep.settings")

local Remotes = {}
Remotes.__index = Remotes

local array_t = ffi.typeof("struct vtep_remote[?]")

-- At most a quarter of the places is taken.
local function new_index(self, s, seed)
  local places = 4
  while places < 4 * s.max_remotes do places = places * 2 end
  self.place = ffi.new("int32_t[?]", places)
  self.index = ffi.new("struct vtep_index", {
    remote = self.array, place = self.place, mask = places - 1, seed = seed,
  })
end

--- No remotes yet, with room for `s.max_remotes` (`s`: settings.check). `seed` (random)
--- keeps others from choosing addresses that collide.
function Remotes.new(s, seed)
  local self = setmetatable({
    settings = s, array = array_t(s.max_remotes + 1), last = s.max_remotes,
    number = {}, address = {}, fixed = {}, free = {}, waiting = {}, hop = {},
    uses = ffi.new("int32_t[?]", s.max_remotes + 1), -- forwarding entries of each
    gone = counts.new(),
    named = function () end, -- called with a number, and its address or nil
    recall = nil, -- asks for the next hop of a number what was kept
  }, Remotes)
  new_index(self, s, seed)
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
    if mac then self:send_by(n, mac) end
    return n
  end
  local hop = next_hop(self.settings, address)
  if not (hop or mac) or #self.free == 0 then return nil end
  n = table.remove(self.free)
  self.number[address], self.address[n], self.fixed[n] = n, address, fixed
  self.uses[n] = 0
  self.named(n, address)
  local r = self.array[n]
  local bytes, sum, pseudo = header.make(self.settings, addresses.text(address))
  ffi.copy(r.header, bytes, #bytes)
  ffi.fill(r.peer, 16)
  ffi.copy(r.peer, address, #address)
  r.sum, r.pseudo, r.ready = sum, pseudo, 0
  C.pg_remote_enter(self.index, n)
  self.hop[n] = nil
  self:send_by(n, mac)
  return n
end

--- Add those that a former process had (addresses by number), by the same numbers where
--- these are free.
function Remotes:add_former(former)
  local wanted, free = {}, {}
  for n, address in pairs(former) do
    if not self.address[n] and not self.number[address] then wanted[n] = address end
  end
  for _, n in ipairs(self.free) do
    if not wanted[n] then free[#free + 1] = n end
  end
  local again = {}
  for _, n in ipairs(self.free) do
    if wanted[n] then again[#again + 1] = n end
  end
  self.free = free
  for _, n in ipairs(again) do
    table.insert(free, n) -- it is the next
    self:add(wanted[n])
  end
end

local function leave_queue(self, n)
  local hop = self.hop[n]
  if not hop then return end
  self.waiting[hop][n] = nil
  if next(self.waiting[hop]) == nil then self.waiting[hop] = nil end
  self.hop[n] = nil
end

--- Send to remote `n` by this Ethernet address (bytes); nil: by that of the next hop,
--- which is asked for it, and may be on the way already.
function Remotes:send_by(n, mac)
  if mac then
    leave_queue(self, n)
    return self:set_mac(n, mac)
  end
  local hop = next_hop(self.settings, self.address[n])
  if hop == self.hop[n] then return end
  leave_queue(self, n)
  self:set_mac(n, nil)
  self.hop[n] = hop
  self.waiting[hop] = self.waiting[hop] or {}
  self.waiting[hop][n] = true
end

--- Remote `n` has this Ethernet address (bytes); nil: it isn't known any more.
function Remotes:set_mac(n, mac)
  local r = self.array[n]
  if mac then ffi.copy(r.header, mac, 6) end
  r.ready = mac and 1 or 0
end

--- The next hop `hop` (bytes) has this Ethernet address, or none any more (nil).
function Remotes:resolved(hop, mac)
  for n in pairs(self.waiting[hop] or {}) do self:set_mac(n, mac) end
end

--- A packet is for remote `n`, which isn't ready: is it now, as a former process knew
--- its next hop (apps.vtep.kept)?
function Remotes:find_out(n)
  if not self.recall then return false end
  self.recall(n)
  return self.array[n].ready ~= 0
end

--- A forwarding entry now leads to remote `n`, or (-1) does so no more. The last
--- one of a learned remote takes it along.
function Remotes:use(n, change)
  self.uses[n] = self.uses[n] + change
  if self.uses[n] > 0 or self.fixed[n] then return end
  leave_queue(self, n)
  self.number[self.address[n]] = nil
  self.address[n] = nil
  self.named(n, nil)
  self.array[n].ready = 0
  C.pg_remote_leave(self.index, n)
  counts.move(self.gone, self.array[n].counts)
  ffi.fill(self.array[n].peer, 16)
  table.insert(self.free, n)
end

--- The settings don't name remote `n` any more, and no entry leads to it.
function Remotes:release(n)
  self.fixed[n] = nil
  if not self.address[n] then return end
  self:use(n, 0)
  -- A frame in a link may be for it still: others get its number last.
  if not self.address[n] then table.insert(self.free, 1, table.remove(self.free)) end
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

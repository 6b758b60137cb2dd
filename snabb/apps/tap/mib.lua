-- SPDX-License-Identifier: Apache-2.0
-- What Snabb's Tap reports of its interface besides a port's counters, in the names and
-- units of Snabb's interface MIB (lib.ipc.shmem.iftable_mib reads them): the address,
-- the state, and how many packets were for groups.

local ffi = require("ffi")
local C = require("core.native")
local counter = require("core.counter")
local iface = require("lib.port.iface")
local nreadable = require("core.link").nreadable

local band, tobit = bit.band, bit.tobit

local mib = {}

local PROP_VIRTUAL = 0x1001 -- a type of interface of Snabb's own
local UP, DOWN = 1, 2       -- RFC 2863, ifOperStatus
local MASK = C.LINK_RING_SIZE - 1

local Counts = {}
Counts.__index = Counts

local KINDS = {"rxmcast", "rxbcast", "txmcast", "txbcast"}

-- An Ethernet address as Snabb's lib.macaddress has it in `bits`.
local function bits_of(mac)
  local bits = ffi.new("uint64_t[1]")
  ffi.copy(bits, mac, 6)
  return bits[0]
end

-- The interface as it is now. One that has gone stays what it was.
local function look(self)
  local now = iface.read(self.name)
  if not now then return end
  ffi.copy(self.mac, now.mac, 6)
  self.status = iface.is_up(now) and UP or DOWN
end

--- For the interface `name`; `mtu` is its longest frame, in bytes. What is published
--- is added to `frame`, what an app's `shm` asks for.
function mib.new(name, mtu, frame)
  local self = setmetatable({name = name, mac = ffi.new("uint8_t[6]"), status = DOWN},
    Counts)
  look(self)
  for _, kind in ipairs(KINDS) do
    self[kind] = 0
    frame[kind] = {counter}
  end
  frame.type, frame.speed = {counter, PROP_VIRTUAL}, {counter, 0}
  frame.mtu, frame.status = {counter, mtu}, {counter, self.status}
  frame.macaddr = {counter, bits_of(self.mac)}
  return self
end

-- How many of the link's packets from number `first` (0: the next that is received) up
-- to, but not, `last` are for groups, and how many of these for all.
local function for_groups(l, first, last)
  local groups, all = 0, 0
  local read = tobit(l.read)
  for i = first, last - 1 do
    local p = l.packets[band(read + i, MASK)]
    local data = p.data
    if p.length >= 6 and band(data[0], 1) == 1 then
      groups = groups + 1
      if data[0] == 0xff and data[1] == 0xff and data[2] == 0xff and data[3] == 0xff
          and data[4] == 0xff and data[5] == 0xff then
        all = all + 1
      end
    end
  end
  return groups, all
end

--- Count what has come into the link `l` since `before` packets waited in it.
function Counts:received(l, before)
  local now = nreadable(l)
  if now <= before then return end
  local groups, all = for_groups(l, before, now)
  self.rxmcast, self.rxbcast = self.rxmcast + groups, self.rxbcast + all
end

--- Let transmit(port, l) send what is in the link `l`, and count what it takes.
function Counts:sent(l, transmit, port)
  local n = nreadable(l)
  local groups, all = for_groups(l, 0, n)
  transmit(port, l)
  local left_groups, left_all = for_groups(l, 0, nreadable(l))
  self.txmcast = self.txmcast + groups - left_groups
  self.txbcast = self.txbcast + all - left_all
end

--- Send what is in the link to the interface's own address.
function Counts:overwrite(l)
  local read = tobit(l.read)
  for i = 0, nreadable(l) - 1 do
    local p = l.packets[band(read + i, MASK)]
    if p.length >= 6 then ffi.copy(p.data, self.mac, 6) end
  end
end

--- Publish all in the app's frame in shared memory.
function Counts:publish(frame)
  look(self)
  for _, kind in ipairs(KINDS) do counter.set(frame[kind], self[kind]) end
  counter.set(frame.status, self.status)
  counter.set(frame.macaddr, bits_of(self.mac))
end

return mib

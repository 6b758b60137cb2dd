-- SPDX-License-Identifier: Apache-2.0
-- Links: rings of packets between two apps. receive() and transmit() are the
-- hottest code of all: one C type for every link, cursors that count up (the
-- number waiting is their difference modulo 2^32), bytes added up only on
-- receive, totals only when somebody asks (link.sync). The cursors' types
-- matter: with two int32 a hop took 1.1 or 1.9 ns, as memory happened to be placed.

local ffi = require("ffi")
local C = require("core.native")
local clock = require("core.lib.clock")
local counter = require("core.counter")
local mode = require("core.check.mode")
local packet = require("core.packet")
local arguments = require("core.lib.arguments")
local shm = require("core.shm")

local band, tobit = bit.band, bit.tobit
local istype = ffi.istype
local Link, Packet = ffi.typeof("struct link"), ffi.typeof("struct packet")
local free = packet.free

local link = {}

local MASK = C.LINK_RING_SIZE - 1
local MAX = C.LINK_MAX_PACKETS

--- Packets a link holds at most.
link.max = tonumber(MAX)

local STATS = {"rxpackets", "rxbytes", "txpackets", "txbytes", "txdrop", "dtime"}
local anchors = setmetatable({}, {__mode = "k"})

-- Of a link whose other end is on another CPU only a half is here: "tx", where packets
-- come in, or "rx". Each half has counters of its own.
local COUNTED = {
  tx = {txpackets = true, txbytes = true, txdrop = true, dtime = true},
  rx = {rxpackets = true, rxbytes = true},
}
local half_of = setmetatable({}, {__mode = "k"})

local function path_of(name, stat)
  return ("links/%s/%s.counter"):format(shm.part(name), stat)
end

local function counter_of(name, stat, counted)
  if counted and not counted[stat] then return ffi.new("struct counter") end
  return counter.create(path_of(name, stat))
end

-- The sentence for what isn't a link. Compiled code knows that a link is one: the tests
-- cost it nothing.
local function no_link(name, value)
  arguments.refuse("link." .. name, 1, value, "a link", 4)
end

--- A new, empty link; its counters appear under links/NAME. `half` is "tx" or "rx" if
--- its other end is on another CPU.
function link.new(name, half)
  if type(name) ~= "string" then arguments.refuse("link.new", 1, name, "a string") end
  local l = ffi.new("struct link", {limit = MAX})
  local counters = {}
  local counted = COUNTED[half]
  half_of[l] = half
  for _, stat in ipairs(STATS) do
    counters[stat] = counter_of(name, stat, counted)
    l.counters[stat] = counters[stat]
  end
  counter.set(counters.dtime, clock.unix_seconds())
  anchors[l] = counters
  return l
end

--- Let the empty link count on from `totals` (link.stats; nil: none) of a link of that
--- name in another Lua state: what left that has come to its end.
function link.count_on(l, totals)
  if not totals or l.write ~= tobit(l.read) then return end
  local half = half_of[l]
  local packets = half == "rx" and totals.rxpackets or totals.txpackets
  l.read, l.write, l.limit = packets, tobit(packets), tobit(tobit(packets) + MAX)
  l.rxbytes = half == "rx" and totals.rxbytes or totals.txbytes
  l.txdrop = totals.txdrop
end

--- The link `name` is from now on that half of one, as for link.new, which counts on
--- from `totals`.
function link.be_half(l, name, half, totals)
  if half_of[l] == half then return end
  local before, after, counters = COUNTED[half_of[l]], COUNTED[half], anchors[l]
  for _, stat in ipairs(STATS) do
    local was = not before or before[stat] == true
    local is = not after or after[stat] == true
    if was and not is then counter.delete(path_of(name, stat)) end
    if was ~= is then counters[stat] = counter_of(name, stat, after) end
    l.counters[stat] = counters[stat]
  end
  half_of[l] = half
  link.count_on(l, totals)
end

--- Packets waiting to be received. Whoever receives asks this once a burst, so
--- here the limit is moved on too: then transmit() hardly ever meets it.
function link.nreadable(l)
  if not istype(Link, l) then no_link("nreadable", l) end
  local read = tobit(l.read)
  l.limit = tobit(read + MAX)
  return tobit(l.write - read)
end
local nreadable = link.nreadable

--- Receive a packet. The link must not be empty: that isn't checked.
function link.receive(l)
  if not istype(Link, l) then no_link("receive", l) end
  local cursor = l.read
  local p = l.packets[band(cursor, MASK)]
  l.read = cursor + 1
  l.rxbytes = l.rxbytes + p.length
  return p
end
local receive = link.receive

--- The packet receive() would return, left in the link; nil if there is none.
function link.front(l)
  if not istype(Link, l) then no_link("front", l) end
  if nreadable(l) > 0 then return l.packets[band(l.read, MASK)] end
end

-- Is there really no room? Sets the limit up to which there is.
local function full(l, cursor)
  l.limit = tobit(tobit(l.read) + MAX)
  return cursor == l.limit
end

local function drop(l, p)
  l.txdrop = l.txdrop + 1
  l.txdropbytes = l.txdropbytes + p.length
  free(p)
end

local function no_packet(l, p)
  if not istype(Link, l) then
    arguments.refuse("link.transmit", 1, l, "a link", 4)
  end
  arguments.refuse("link.transmit", 2, p, "a packet", 4)
end

--- Transmit a packet. A full link frees it and counts it as txdrop. (The types
--- cost nothing in compiled code, which knows them. `p == nil`, which NULL is too, cost
--- 0.1 cycle of 3.3: native/dpdk/null.c tells of that.)
function link.transmit(l, p)
  if not (istype(Packet, p) and istype(Link, l)) then no_packet(l, p) end
  local cursor = l.write
  if cursor == l.limit and full(l, cursor) then
    drop(l, p)
  else
    l.packets[band(cursor, MASK)] = p
    l.write = tobit(cursor + 1)
  end
end

--- Is there nothing to receive?
function link.empty(l)
  if not istype(Link, l) then no_link("empty", l) end
  return l.write == tobit(l.read)
end

--- Is there no room to transmit?
function link.full(l)
  if not istype(Link, l) then no_link("full", l) end
  return nreadable(l) >= MAX
end

--- Packets there is room for.
function link.nwritable(l)
  if not istype(Link, l) then no_link("nwritable", l) end
  return MAX - nreadable(l)
end

--- Bring the link's counters up to date. The engine does it now and then.
function link.sync(l)
  if not istype(Link, l) then no_link("sync", l) end
  local counters = l.counters
  if counters.rxpackets == nil then return end
  counter.set(counters.rxpackets, l.read)
  counter.set(counters.rxbytes, l.rxbytes)
  counter.set(counters.txpackets, l.read + nreadable(l))
  counter.set(counters.txbytes, l.rxbytes + C.pg_link_queued_bytes(l))
  counter.set(counters.txdrop, l.txdrop)
end
local sync = link.sync

local settle = function () end

--- Call bring_up_to_date(link) before somebody looks at a link's counters: those of
--- fused links aren't kept otherwise.
function link.before_reading(bring_up_to_date) settle = bring_up_to_date end

-- l.stats.txpackets and the others are Snabb's names for the counters; whoever
-- asks for them gets them up to date.
ffi.metatype("struct link", {
  __index = function (l, key)
    if key ~= "stats" then
      error(("a link has no field '%s'"):format(tostring(key)), 2)
    end
    settle(l)
    sync(l)
    return l.counters
  end,
})

--- The link's totals as a table of numbers: rxpackets, rxbytes, txpackets,
--- txbytes, txdrop.
function link.stats(l)
  if not istype(Link, l) then no_link("stats", l) end
  local counters, stats = l.stats, {}
  for _, stat in ipairs(STATS) do
    if counters[stat] ~= nil then
      stats[stat] = tonumber(counter.read(counters[stat]))
    end
  end
  return stats
end

--- The totals of a table of links, under the same names; with `half` for half links.
function link.all_stats(links)
  local all = {}
  for name, l in pairs(links) do
    all[name] = link.stats(l)
    all[name].half = half_of[l]
  end
  return all
end

--- Remove the counters of the link, which has been freed.
function link.forget(l, name)
  local counted = COUNTED[half_of[l]]
  for _, stat in ipairs(STATS) do
    if not counted or counted[stat] then counter.delete(path_of(name, stat)) end
    l.counters[stat] = nil
  end
  if counted then
    os.remove(shm.path("links/" .. shm.part(name))) -- unless the other half's are there
  else
    shm.unlink("links/" .. shm.part(name))
  end
end

--- Free the packets in the link, and its counters; how many packets that were. With
--- `later`, a list, its counters stay until link.forget is called of what is added to
--- that, {link, name}: it makes some twenty system calls.
function link.free(l, name, later)
  if not istype(Link, l) then no_link("free", l) end
  if type(name) ~= "string" then arguments.refuse("link.free", 2, name, "a string") end
  local lost = 0
  while nreadable(l) > 0 do
    free(receive(l))
    lost = lost + 1
  end
  if later then
    later[#later + 1] = {l, name}
  else
    link.forget(l, name)
  end
  return lost
end

if mode.on then require("core.check.links").guard(link) end

return link

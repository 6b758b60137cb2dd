-- SPDX-License-Identifier: Apache-2.0
-- Ethernet addresses by IPv4 address, as ARP has told, and packets that wait for one.
-- Entries age: those not heard of for `timeout` are as if they were unknown, and are
-- removed. How many packets and entries there may be is limited.
--
-- Times are in milliseconds of the clock that the table is given. Addresses of IPv4 are
-- words (click.net.wire), those of Ethernet strings.

local packet = require("core.packet")
local wire = require("click.net.wire")

local arp_table = {}

local Table = {}
Table.__index = Table

local BROADCAST = ("\255"):rep(6)
local NEVER = math.huge
local BETWEEN_QUERIES, BETWEEN_LATER_QUERIES = 100, 2000 -- ms
local EARLY_QUERIES = 10

--- What append() may say.
arp_table.KNOWN, arp_table.FULL, arp_table.ASK, arp_table.WAIT = 1, 2, 3, 4
local KNOWN, FULL, ASK, WAIT = 1, 2, 3, 4

--- The settings of a table, with what they are if nothing is said; 0 is no limit.
arp_table.arguments = {
  {"CAPACITY", "unsigned", keyword = true},
  {"ENTRY_CAPACITY", "unsigned", keyword = true},
  {"ENTRY_PACKET_CAPACITY", "unsigned", keyword = true},
  {"CAPACITY_SLIM_FACTOR", "unsigned", keyword = true},
  {"TIMEOUT", "seconds", keyword = true},
}

--- An empty table; `clock()` is the time.
function arp_table.new(clock)
  return setmetatable({
    clock = clock, entries = {}, count = 0, length = 0, drops = 0, timeout = 300e3,
    capacity = 2048, entry_capacity = 0, entry_packets = 0, slim_factor = 2,
  }, Table)
end

--- Set what the parsed arguments say.
function Table:set(a)
  self.capacity = a.CAPACITY or self.capacity
  self.entry_capacity = a.ENTRY_CAPACITY or self.entry_capacity
  self.entry_packets = a.ENTRY_PACKET_CAPACITY or self.entry_packets
  self.slim_factor = a.CAPACITY_SLIM_FACTOR or self.slim_factor
  if a.TIMEOUT then
    self.timeout = math.floor(a.TIMEOUT * 1000)
    for _, e in pairs(self.entries) do self:date(e, e.live_at) end
  end
end

-- Entries, the oldest first -------------------------------------------------------

local function unlink(self, e)
  if e.before then e.before.after = e.after else self.oldest = e.after end
  if e.after then e.after.before = e.before else self.newest = e.before end
  e.before, e.after = nil, nil
end

-- Put the entry before another one, or last.
local function link_before(self, e, other)
  local before
  if other then before = other.before else before = self.newest end
  e.before, e.after = before, other
  if before then before.after = e else self.oldest = e end
  if other then other.before = e else self.newest = e end
end

-- It was heard of then; `expires` is until when it is known for.
function Table:date(e, now)
  e.live_at = now
  e.expires = not e.known and -1 or self.timeout == 0 and NEVER or now + self.timeout
end

local function has_expired(self, e, now)
  return self.timeout ~= 0 and e.live_at + self.timeout < now
end

local function free_first(self, e)
  packet.free(table.remove(e.packets, 1))
  self.length = self.length - 1
  self.drops = self.drops + 1
end

local function remove(self, e)
  unlink(self, e)
  self.entries[e.ip] = nil
  self.count = self.count - 1
  while e.packets[1] do free_first(self, e) end
end

--- Remove old entries, and of packets a part if there are too many.
function Table:slim(now)
  local limit = self.entry_capacity
  while self.oldest and (has_expired(self, self.oldest, now)
    or limit ~= 0 and self.count > limit) do
    remove(self, self.oldest)
  end
  if self.capacity == 0 or self.length <= self.capacity then return end
  local keep = self.capacity - math.floor(self.capacity / self.slim_factor)
  local e = self.oldest
  while e and self.length > keep do
    while e.packets[1] and self.length > keep do free_first(self, e) end
    e = e.after
  end
end

local function set_address(e, eth)
  e.eth, e.word, e.half = eth, wire.word(eth), wire.half(eth, 4)
end

local function ensure(self, ip, now)
  local e = self.entries[ip]
  if e then return e end
  self.count = self.count + 1
  if self.entry_capacity ~= 0 and self.count > self.entry_capacity then
    self:slim(now)
  end
  e = {ip = ip, known = false, polls = 0, polled_at = now - 1000, packets = {},
       live_at = now, expires = -1, word = -1, half = 0xffff, eth = BROADCAST}
  self.entries[ip] = e
  link_before(self, e)
  return e
end

-- What is done with it -------------------------------------------------------------

--- May a query be sent for the entry now? If so, it counts as sent.
function Table:poll(e, now)
  local pause = e.polls >= EARLY_QUERIES and BETWEEN_LATER_QUERIES or BETWEEN_QUERIES
  if now < e.polled_at + pause then return false end
  e.polled_at, e.polls = now, math.min(e.polls + 1, 255)
  return true
end

--- The address is there (the broadcast address: it isn't known). Returns the packets
--- that have waited for it, a list that is the caller's, if `take`.
function Table:insert(ip, eth, take)
  local now = self.clock()
  local e = ensure(self, ip, now)
  set_address(e, eth)
  e.known, e.polls, e.polled_at = eth ~= BROADCAST, 0, now - 1000
  self:date(e, now)
  unlink(self, e)
  link_before(self, e)
  if not take then return end
  local packets = e.packets
  e.packets = {}
  self.length = self.length - #packets
  return packets
end

-- As long as packets are sent there, keep the entry just this side of expiring.
local function keep_alive(self, e, now)
  local least = now - self.timeout
  if self.timeout == 0 or e.live_at >= least then return end
  self:date(e, least)
  local other = e.after
  if not other or other.live_at >= least then return end
  unlink(self, e)
  while other and other.live_at < least do other = other.after end
  link_before(self, e, other)
end

--- Keep the packet until the address is known. KNOWN: it is, and FULL: there is no
--- room, then the packet isn't kept; ASK: send a query; WAIT.
function Table:append(ip, p)
  local now = self.clock()
  local e = ensure(self, ip, now)
  if now <= e.expires then return KNOWN end
  keep_alive(self, e, now)
  if self.entry_packets ~= 0 and #e.packets >= self.entry_packets then
    self.drops = self.drops + 1
    return FULL
  end
  self.length = self.length + 1
  if self.capacity ~= 0 and self.length > self.capacity then self:slim(now) end
  e.packets[#e.packets + 1] = p
  return self:poll(e, now) and ASK or WAIT
end

--- Remove everything.
function Table:clear()
  while self.oldest do remove(self, self.oldest) end
end

-- Handlers -------------------------------------------------------------------------

local function seconds_text(ms) return ("%.6f"):format(ms / 1000) end

--- A line for each entry: address, whether it is known, Ethernet address, age.
function Table:text()
  local now, lines, e = self.clock(), {}, self.oldest
  while e do
    lines[#lines + 1] = ("%s %d %s %s\n"):format(wire.word_text(e.ip),
      now <= e.expires and 1 or 0, wire.eth_text(e.eth), seconds_text(now - e.live_at))
    e = e.after
  end
  return table.concat(lines)
end

--- Seconds to the first look for what has expired, nil if nothing does; the others come
--- after a second more.
function Table:first_look()
  return self.timeout ~= 0 and math.floor(self.timeout / 1000) or nil
end

return arp_table

-- SPDX-License-Identifier: Apache-2.0
-- A neighbour cache (RFC 4861, section 5.1): MAC addresses by IP address, as answers
-- say, and packets that wait for one. Entries age: those not heard of for `timeout` are
-- as if they were unknown, and are removed. How many packets and entries there may be
-- is limited.
--
-- What it knows can be kept (net.neighbor.kept): then `store` notes it.
--
-- It doesn't know the time: who uses it says it, in a unit of their own. IP addresses
-- are numbers or strings (net.neighbor.key), MAC addresses strings of 6 bytes.

local index = require("net.neighbor.index")
local key = require("net.neighbor.key")
local packet = require("core.packet")

local cache = {}

local Cache = {}
Cache.__index = Cache

local NEVER = math.huge

--- What append() may say.
cache.KNOWN, cache.FULL, cache.ASK, cache.WAIT = 1, 2, 3, 4
local KNOWN, FULL, ASK, WAIT = 1, 2, 3, 4

--- Entries at most, if no `entry_capacity` says otherwise, and the most that it can
--- say: whoever is on the segment can send an answer for each address there is.
cache.MOST, cache.LIMIT = 65536, 2 ^ 20

-- Settings, as they are if nothing is said; 0 is no limit.
local DEFAULTS = {
  timeout = 0,        -- an entry is good for so long
  reachable = NEVER,  -- after so long it is asked for again
  tries = NEVER,      -- and given up after so many requests
  between = 1,        -- requests for one entry,
  early = NEVER,      -- and after so many of them
  later = 1,
  capacity = 0,       -- packets that wait, in all,
  slim_factor = 2,    -- of which one part in so many is dropped if there are more
  entry_packets = 0,  -- packets that wait for one entry:
  newest = false,     -- the newest of them stay, not the oldest
  entry_capacity = 0, -- entries; 0: cache.MOST
  changed = function () end, -- called with an entry whose address is another,
  gone = function () end,    -- and with one that is removed
}

local function most_entries(self)
  local most = self.entry_capacity
  return most == 0 and cache.MOST or math.min(most, cache.LIMIT)
end

--- How many entries there may be.
function Cache:most() return most_entries(self) end

--- An empty cache, with these settings (above).
function cache.new(settings)
  local self = {count = 0, length = 0, drops = 0, spare = {}, used = {}}
  for name, default in pairs(DEFAULTS) do self[name] = default end
  for name, value in pairs(settings or {}) do self[name] = value end
  self.index = index.new(most_entries(self))
  return setmetatable(self, Cache)
end

--- The entry for the address, or nil.
function Cache:find(ip)
  return self.index:find(ip) or self.store and self.store:recall(key.of(ip))
end

--- The same of the address of `n` bytes at the pointer.
function Cache:find_at(pointer, n)
  return self.index:find_at(pointer, n)
    or self.store and self.store:recall(key.at(pointer, n))
end

-- Entries, the oldest first -------------------------------------------------------
--
-- Two lists: those in use, whose address was asked for and answered, or that a packet
-- went to; and the others. When there are too many, the others go first, so that a
-- flood of answers that nobody asked for, or of packets to addresses that nobody has,
-- leaves those in use alone.

local function unlink(e)
  local list = e.list
  if e.before then e.before.after = e.after else list.oldest = e.after end
  if e.after then e.after.before = e.before else list.newest = e.before end
  e.before, e.after = nil, nil
end

-- Put the entry into the list before another one, or last.
local function link_before(list, e, other)
  local before
  if other then before = other.before else before = list.newest end
  e.before, e.after, e.list = before, other, list
  if before then before.after = e else list.oldest = e end
  if other then other.before = e else list.newest = e end
end

local function move_to(list, e)
  unlink(e)
  link_before(list, e)
end

--- A packet goes to the entry, which is known: it is in use from now on.
function Cache:use(e)
  if e.in_use then return end
  e.in_use = true
  move_to(self.used, e)
end

--- `for e in list:each() do`: all entries; the one at hand may be removed.
function Cache:each()
  local list, following = self.spare, self.spare.oldest
  return function ()
    if not following and list == self.spare then
      list, following = self.used, self.used.oldest
    end
    local e = following
    following = e and e.after
    return e
  end
end

--- All entries, a list: those first that weren't heard of for longest.
function Cache:by_age()
  local all, order = {}, {}
  for e in self:each() do
    all[#all + 1] = e
    order[e] = #all
  end
  table.sort(all, function (a, b)
    return a.live_at < b.live_at or a.live_at == b.live_at and order[a] < order[b]
  end)
  return all
end

local function set_date(self, e, now)
  e.live_at = now
  e.expires = not e.known and -1 or self.timeout == 0 and NEVER or now + self.timeout
end

--- It was heard of then; `expires` is until when it is known for.
function Cache:date(e, now)
  set_date(self, e, now)
  if self.store then self.store:note(e) end
end

local function has_expired(self, e, now)
  return self.timeout ~= 0 and e.live_at + self.timeout < now
end

local function free_first(self, e)
  packet.free(table.remove(e.packets, 1))
  self.length = self.length - 1
  self.drops = self.drops + 1
end

--- Remove the entry, and drop the packets that wait for it.
function Cache:remove(e)
  self.gone(e)
  unlink(e)
  if self.store then self.store:forget(e) end
  self.index:take(e)
  self.count = self.count - 1
  while e.packets[1] do free_first(self, e) end
end

-- Drop packets that wait, the oldest entries' first, until there are `keep`.
local function drop_waiting(self, keep)
  for e in self:each() do
    while e.packets[1] and self.length > keep do free_first(self, e) end
    if self.length <= keep then return end
  end
end

--- Remove old entries, and so many that there is room for `coming` others (0); and of
--- packets a part if there are too many.
function Cache:slim(now, coming)
  for _, list in ipairs{self.spare, self.used} do
    while list.oldest and has_expired(self, list.oldest, now) do
      self:remove(list.oldest)
    end
  end
  local most = most_entries(self) - (coming or 0)
  while self.count > most do self:remove(self.spare.oldest or self.used.oldest) end
  if self.capacity == 0 or self.length <= self.capacity then return end
  drop_waiting(self, self.capacity - math.floor(self.capacity / self.slim_factor))
end

--- Remove everything.
function Cache:clear()
  for e in self:each() do self:remove(e) end
  if self.store then self.store:clear() end
end

-- A new entry, before that one, or the newest.
local function make(self, ip, now, before)
  if self.count >= most_entries(self) then self:slim(now, 1) end
  local e = {ip = ip, known = false, polls = 0, polled_at = -NEVER, packets = {},
    live_at = now, expires = -1, in_use = false}
  self.index:put(e)
  self.count = self.count + 1
  link_before(self.spare, e, before)
  return e
end

--- The entry for the address, which is made if there is none.
function Cache:ensure(ip, now)
  local e = self:find(ip)
  if e then return e end
  e = make(self, ip, now)
  self.changed(e)
  return e
end

--- The store has got that neighbour, heard of then: it has an entry, as the oldest or
--- the newest if there was none.
function Cache:restore(ip, mac, heard, is_oldest)
  local e = self.index:find(ip)
    or make(self, ip, heard, is_oldest and self.spare.oldest or nil)
  if e.known then return e end
  e.mac, e.known = mac, true
  set_date(self, e, heard)
  self.changed(e)
  return e
end

-- As many entries as the settings say find room.
local function fit(self)
  if self.index.limit >= most_entries(self) then return end
  self.index = index.new(most_entries(self))
  for e in self:each() do self.index:put(e) end
end

--- There are up to `n` entries from now on (0: cache.MOST).
function Cache:set_entry_capacity(n)
  self.entry_capacity = n
  fit(self)
end

local CONTENTS = {"index", "spare", "used", "count", "length", "drops", "store"}

--- Take over what the other cache has, which gets what this one has; each keeps its
--- settings. What is kept is that of the contents, until net.neighbor.kept is asked for
--- an item again.
function Cache:swap(other)
  for _, field in ipairs(CONTENTS) do
    self[field], other[field] = other[field], self[field]
  end
  for _, each in ipairs{self, other} do
    fit(each)
    if each.store then each.store.cache = each end
  end
  for e in self:each() do self:date(e, e.live_at) end
end

-- What is done with it -------------------------------------------------------------

--- May a request be sent for the entry now? If so, it counts as sent.
function Cache:poll(e, now)
  local pause = e.polls >= self.early and self.later or self.between
  if now < e.polled_at + pause then return false end
  e.polled_at, e.polls = now, e.polls + 1
  return true
end

--- Has the entry been asked for more often than `tries`?
function Cache:has_failed(e) return e.polls > self.tries end

--- The address is at `mac`; nil: it isn't known. Returns the entry.
function Cache:insert(ip, mac, now)
  local e = self:ensure(ip, now)
  e.in_use = mac ~= nil and (e.in_use or e.polls > 0)
  e.mac, e.known, e.polls, e.polled_at = mac, mac ~= nil, 0, -NEVER
  self:date(e, now)
  move_to(e.in_use and self.used or self.spare, e)
  self.changed(e)
  return e
end

--- Take the packets that have waited for the entry: a list that is the caller's.
function Cache:take(e)
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
  unlink(e)
  while other and other.live_at < least do other = other.after end
  link_before(e.list, e, other)
end

--- Keep the packet until the address is known. KNOWN: it is, and FULL: there is no
--- room, then the packet isn't kept; ASK: send a request; WAIT.
function Cache:append(ip, p, now)
  local e = self:ensure(ip, now)
  if now <= e.expires then return KNOWN end
  keep_alive(self, e, now)
  if self.entry_packets ~= 0 and #e.packets >= self.entry_packets then
    if not self.newest then
      self.drops = self.drops + 1
      return FULL
    end
    free_first(self, e)
  end
  self.length = self.length + 1
  if self.capacity ~= 0 and self.length > self.capacity then self:slim(now) end
  e.packets[#e.packets + 1] = p
  return self:poll(e, now) and ASK or WAIT
end

--- Look after the entry: ask(ip) if it isn't known, or was heard of `reachable` ago or
--- longer. True if so many requests got no answer that it isn't known (any more).
function Cache:tend(e, now, ask)
  if e.known and now - e.live_at < self.reachable or not self:poll(e, now) then
    return false
  end
  local failed = self:has_failed(e)
  if failed then
    e.mac, e.known, e.expires, e.polls, e.in_use = nil, false, -1, 1, false
    move_to(self.spare, e)
    if self.store then self.store:forget(e) end
    self.changed(e)
  end
  ask(e.ip)
  return failed
end

return cache

-- SPDX-License-Identifier: Apache-2.0
-- A neighbour cache (RFC 4861, section 5.1): MAC addresses by IP address, as answers
-- say, and packets that wait for one. Entries age: those not heard of for `timeout` are
-- as if they were unknown, and are removed. How many packets and entries there may be
-- is limited.
--
-- What it knows can be kept (net.neighbor.kept): then `store` notes it.
--
-- It doesn't know the time: who uses it says it, in a unit of their own. IP addresses
-- are keys of Lua (numbers or strings), MAC addresses strings of 6 bytes.

local packet = require("core.packet")

local cache = {}

local Cache = {}
Cache.__index = Cache

local NEVER = math.huge

--- What append() may say.
cache.KNOWN, cache.FULL, cache.ASK, cache.WAIT = 1, 2, 3, 4
local KNOWN, FULL, ASK, WAIT = 1, 2, 3, 4

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
  entry_capacity = 0, -- entries
  changed = function () end, -- called with an entry whose address is another
}

--- An empty cache, with these settings (above).
function cache.new(settings)
  local self = {entries = {}, count = 0, length = 0, drops = 0}
  for name, default in pairs(DEFAULTS) do self[name] = default end
  for name, value in pairs(settings or {}) do self[name] = value end
  return setmetatable(self, Cache)
end

-- Entries, the oldest first -------------------------------------------------------

local function unlink(self, e)
  if e.before then e.before.after = e.after else self.oldest = e.after end
  if e.after then e.after.before = e.before else self.newest_entry = e.before end
  e.before, e.after = nil, nil
end

-- Put the entry before another one, or last.
local function link_before(self, e, other)
  local before
  if other then before = other.before else before = self.newest_entry end
  e.before, e.after = before, other
  if before then before.after = e else self.oldest = e end
  if other then other.before = e else self.newest_entry = e end
end

--- It was heard of then; `expires` is until when it is known for.
function Cache:date(e, now)
  e.live_at = now
  e.expires = not e.known and -1 or self.timeout == 0 and NEVER or now + self.timeout
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
  unlink(self, e)
  if self.store then self.store:forget(e) end
  self.entries[e.ip] = nil
  self.count = self.count - 1
  while e.packets[1] do free_first(self, e) end
end

--- Remove old entries, and of packets a part if there are too many.
function Cache:slim(now)
  local limit = self.entry_capacity
  while self.oldest and (has_expired(self, self.oldest, now)
    or limit ~= 0 and self.count > limit) do
    self:remove(self.oldest)
  end
  if self.capacity == 0 or self.length <= self.capacity then return end
  local keep = self.capacity - math.floor(self.capacity / self.slim_factor)
  local e = self.oldest
  while e and self.length > keep do
    while e.packets[1] and self.length > keep do free_first(self, e) end
    e = e.after
  end
end

--- Remove everything.
function Cache:clear()
  while self.oldest do self:remove(self.oldest) end
end

--- The entry for the address, which is made if there is none.
function Cache:ensure(ip, now)
  local e = self.entries[ip]
  if e then return e end
  self.count = self.count + 1
  if self.entry_capacity ~= 0 and self.count > self.entry_capacity then
    self:slim(now)
  end
  e = {ip = ip, known = false, polls = 0, polled_at = -NEVER, packets = {},
       live_at = now, expires = -1}
  self.entries[ip] = e
  link_before(self, e)
  self.changed(e)
  return e
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
  e.mac, e.known, e.polls, e.polled_at = mac, mac ~= nil, 0, -NEVER
  self:date(e, now)
  unlink(self, e)
  link_before(self, e)
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
  unlink(self, e)
  while other and other.live_at < least do other = other.after end
  link_before(self, e, other)
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
    e.mac, e.known, e.expires, e.polls = nil, false, -1, 1
    if self.store then self.store:forget(e) end
    self.changed(e)
  end
  ask(e.ip)
  return failed
end

return cache

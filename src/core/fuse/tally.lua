-- SPDX-License-Identifier: Apache-2.0
-- The counters of a fused region. Only what leaves the straight way is counted
-- per packet (drops, outputs but the first, changes of length: "events"); what
-- passed each link in the region follows from that and from what came in.

local ffi = require("ffi")
local C = require("core.native")
local config = require("core.config")
local drops = require("core.fuse.drops")
local link = require("core.link")
local packet = require("core.packet")

local Tally = {}
Tally.__index = Tally

local counts_t = ffi.typeof("struct { int64_t packets, bytes; }[?]")
-- What comes to an app, and what it adds to the bytes of what it passes on, by what it
-- says (lengthens).
local into_t = ffi.typeof("struct { int64_t packets, bytes, growth; }[?]")
local int64s_t = ffi.typeof("int64_t[?]")

local free = packet.free

--- What the generated code calls for packets that leave the straight way:
--- count(event, size), drop(event, packet), lose(app number, drop number, packet, its
--- length before, what process() returned: false keeps it), grow(app number, bytes).
function Tally:functions()
  local counts, growth, r = self.counts, self.growth, self.region
  local first, losses, kept = r.first_loss, r.losses, r.kept
  local function count(event, size)
    counts[event].packets = counts[event].packets + 1
    counts[event].bytes = counts[event].bytes + size
  end
  local function drop(event, p)
    count(event, p.length)
    free(p)
  end
  -- process() returned no packet. What it did to the length of `p` doesn't count.
  local function lose(k, reason, p, before, result)
    if result == false then return count(kept[k], before) end
    count(losses[k][reason] or first[k], before)
    free(p)
  end
  local function grow(k, by)
    growth[k] = growth[k] + by
  end
  return count, drop, lose, grow
end

-- Bytes that have gone into the link, whatever became of them.
local function bytes_into(l)
  return l.rxbytes + C.pg_link_queued_bytes(l) + l.txdropbytes
end

-- With one entry nobody adds up what comes in: it is what left and what was lost,
-- less what apps have added.
local function bytes_in(self)
  local sum = 0LL
  for _, exit in ipairs(self.exits) do
    sum = sum + bytes_into(exit.link) - exit.bytes
  end
  local counts, growth, into = self.counts, self.growth, self.into
  for _, event in ipairs(self.lost) do sum = sum + counts[event].bytes end
  for k = 1, self.napps do sum = sum - growth[k] - into[k].growth end
  return sum
end

-- The fused link has passed `packets` and `bytes` since the region was made.
local function set(l, base, packets, bytes)
  l.read, l.rxbytes = base.packets + packets, base.bytes + bytes
  l.write = bit.tobit(l.read)
  l.limit = bit.tobit(l.write + link.max)
end

-- Packets and bytes of the event, if there is one.
local function counted(self, event)
  if not event then return 0LL, 0LL end
  return self.counts[event].packets, self.counts[event].bytes
end

local function add_into(self, k, packets, bytes)
  local into = self.into[k]
  into.packets, into.bytes = into.packets + packets, into.bytes + bytes
end

-- Packets that came to app `k`, shared out among its losses and outputs, last output
-- first: what went to the first wasn't counted, and is what remains. And so by how much
-- it has lengthened them, if it says so.
local function share_out_packets(self, k)
  local into, r = self.into, self.region
  local n = into[k].packets
  for event = self.first[k], self.last[k] do n = n - counted(self, event) end
  local astray = counted(self, r.astray[k]) -- process() has passed those on, too
  into[k].growth = (n + astray) * (r.lengthens[k] or 0)
  local outs = self.outs[k]
  for i = #outs, 1, -1 do
    local out, share = outs[i], n
    if out.event then
      share = counted(self, out.event)
      n = n - share
    end
    out.carried = share + counted(self, out.emitted)
    if out.to and not out.closing then
      into[out.to].packets = into[out.to].packets + out.carried
    end
  end
end

-- The same of bytes. Then it is known what each link has carried.
local function share_out(self, k)
  local into = self.into
  local b = into[k].bytes + self.growth[k] + into[k].growth
  for event = self.first[k], self.last[k] do b = b - self.counts[event].bytes end
  local outs = self.outs[k]
  for i = #outs, 1, -1 do
    local out, share = outs[i], b
    if out.event then
      share = self.counts[out.event].bytes
      b = b - share
    end
    if out.to then
      local _, emitted = counted(self, out.emitted)
      share = share + emitted
      set(out.link, out, out.carried, share)
      if not out.closing then into[out.to].bytes = into[out.to].bytes + share end
    end
  end
end

-- What comes to apps by links that close a loop is counted: first, as it is part of
-- what there is to share out.
local function come_round(self)
  for _, outs in ipairs(self.outs) do
    for _, out in ipairs(outs) do
      if out.closing then
        add_into(self, out.to, counted(self, out.event))
        add_into(self, out.to, counted(self, out.emitted))
      end
    end
  end
end

-- Tell core.fuse.drops what has been dropped since the last time.
local function tell_drops(self)
  for _, d in ipairs(self.drops) do
    local n = self.counts[d.event].packets
    if n ~= d.told then
      drops.add(d.app, d.reason, tonumber(n - d.told))
      d.told = n
    end
  end
end

--- Bring the counters of the region's links, and the drops, up to date.
function Tally:account()
  local into, entries = self.into, self.entries
  ffi.fill(into, self.into_bytes)
  for _, e in ipairs(entries) do
    e.seen = e.link.read
    into[e.to].packets = into[e.to].packets + e.link.read - e.packets
  end
  if self.region.puts then come_round(self) end
  for k = 1, self.napps do share_out_packets(self, k) end
  if not self.region.sums and #entries == 1 then
    entries[1].link.rxbytes = entries[1].bytes + bytes_in(self)
  end
  for _, e in ipairs(entries) do
    into[e.to].bytes = into[e.to].bytes + e.link.rxbytes - e.bytes
  end
  for k = 1, self.napps do share_out(self, k) end
  tell_drops(self)
end

--- Has anything come in since account()? (Sources in the region aren't looked at.)
function Tally:moved()
  if self.region.puts then return true end
  for _, e in ipairs(self.entries) do
    if e.link.read ~= e.seen then return true end
  end
  return false
end

--- Packet and bytes that app number `k` has taken and not given back, because it
--- raised an error.
function Tally:raised(k, bytes)
  local event = self.region.raised[k]
  self.counts[event].packets = self.counts[event].packets + 1
  self.counts[event].bytes = self.counts[event].bytes + bytes
end

--- From the links' counters as they are now, the tally counts on.
function Tally:begin()
  for _, entry in ipairs(self.entries) do
    entry.packets, entry.bytes = entry.link.read, entry.link.rxbytes
  end
  for _, outs in ipairs(self.outs) do
    for _, out in ipairs(outs) do
      if out.link then out.packets, out.bytes = out.link.read, out.link.rxbytes end
    end
  end
  for _, exit in ipairs(self.exits) do exit.bytes = bytes_into(exit.link) end
end

local function flows(self, r)
  for k, name in ipairs(r.apps) do
    self.first[k] = r.first_loss[k]
    self.last[k] = r.last_loss[k]
    self.outs[k] = {}
    for i, lead in ipairs(r.outputs[name]) do
      local l = lead.kind == "app" and r.links[lead.spec]
      local out = l and {link = l, to = r.index[lead.to]} or {}
      out.event, out.emitted, out.closing = lead.event, lead.emitted, lead.closing
      self.outs[k][i] = out
    end
  end
end

--- The tally of a region described by `r` (core.fuse.region).
function Tally.new(r)
  local self = setmetatable({
    region = r, napps = #r.apps, counts = counts_t(#r.events + 1),
    growth = int64s_t(#r.apps + 1), into = into_t(#r.apps + 1),
    first = {}, last = {}, outs = {}, entries = {}, exits = {}, lost = {}, drops = {},
  }, Tally)
  -- LuaJIT doesn't compile sizeof of an array whose length is known but now.
  self.into_bytes = ffi.sizeof(self.into)
  flows(self, r)
  for i, spec in ipairs(r.entries) do
    local _, _, to = config.parse_link(spec)
    self.entries[i] = {link = r.links[spec], to = r.index[to]}
  end
  for i, spec in ipairs(r.exits) do
    self.exits[i] = {link = r.links[spec]}
  end
  for event, e in ipairs(r.events) do
    if e.drop or e.raised then self.lost[#self.lost + 1] = event end
    if e.drop then
      self.drops[#self.drops + 1] =
        {event = event, app = r.app_of[e.app].lifted_from or r.app_of[e.app],
         reason = e.drop, told = 0LL}
    end
  end
  self:begin()
  return self
end

return Tally

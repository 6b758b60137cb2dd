-- SPDX-License-Identifier: Apache-2.0
-- Host: what a tunnel end point does as a host of its underlay (ARP or neighbour
-- discovery, echo replies), and all that isn't done packet by packet: it learns from
-- the digest, lets entries age, and finds next hops.

local addresses = require("net.address.address")
local ffi = require("ffi")
local counter = require("core.counter")
local engine = require("core.app")
local link = require("core.link")
local packet = require("core.packet")
local echo = require("net.icmp.echo")
local fdb = require("net.fdb.fdb")
local kept = require("apps.vtep.kept")
local Neighbours = require("apps.vtep.neighbours")
local state = require("apps.vtep.state")
local station = require("net.neighbor.station")

local Host = {needs_packets = true, restless = false}
Host.__index = Host

Host.link_names = {input = {input = true}, output = {output = true}}

local REFRESH_S = 0.1 -- between looks at the neighbours
local COUNTERS = {
  "answered", "pings", "ignored", "asked", "lost", "learned", "moved", "aged",
  "table_full", "remotes_full", "not_learned",
}

--- Make the app for a tunnel (apps.vtep.tunnel).
function Host:new(tunnel)
  local s = tunnel.settings
  local host = setmetatable({
    tunnel = tunnel, settings = s, remotes = tunnel.remotes, fdb = tunnel.fdb,
    digest = tunnel.digest, address_bytes = #s.address, shm = {}, next_refresh = 0,
    sweep = math.ceil(s.capacity / engine.tick_Hz), -- entries a tick
  }, self)
  for _, name in ipairs(COUNTERS) do host.shm[name] = {counter} end
  host.neighbours = Neighbours.new(tunnel.remotes, function (hop)
    counter.add(host.shm.asked)
    host:send(station.request(s, hop))
  end)
  host.gone = function (remote)
    counter.add(host.shm.aged)
    tunnel.let_go(remote)
  end
  return host
end

function Host:send(p)
  local output = self.output.output
  if output then link.transmit(output, p) else packet.free(p) end
end

-- Learning ------------------------------------------------------------------------

-- What follows from the result of learning that a key is at the remote `n`.
local function account(self, n, done, had)
  local shm, remotes = self.shm, self.remotes
  if done == fdb.LEARNED or done == fdb.MOVED then
    counter.add(done == fdb.MOVED and shm.moved or shm.learned)
    remotes:use(n, 1)
    if had then remotes:use(had, -1) end
  else
    if done == fdb.FULL then counter.add(shm.table_full) end
    remotes:use(n, 0) -- lets go of one that was made in vain
  end
end

-- Enter a sighting into the table: the key, the remote's address (bytes); and a frame
-- of so many bytes into the remote's counts, unless they are 0.
local function learn(self, key, from, uncounted)
  local shm, remotes, s = self.shm, self.remotes, self.settings
  local _, vni = fdb.of_key(key)
  if not self.tunnel.flood[vni] -- it may be gone since
      or not addresses.is_unicast(from) or from == s.address then
    return counter.add(shm.not_learned)
  end
  local n = remotes.number[from] or not s.strict and remotes:add(from)
  if not n then return counter.add(shm.remotes_full) end
  if uncounted > 0 then
    local counts = remotes.array[n].counts
    counts.received = counts.received + 1
    counts.received_bytes = counts.received_bytes + uncounted
  end
  account(self, n, self.fdb:learn(key, n, self.gone))
end

--- Learn what the digest holds.
function Host:learn_all()
  local digest = self.digest
  for i = 0, digest.n - 1 do
    local seen = digest.of[i]
    learn(self, seen.key, ffi.string(seen.from, self.address_bytes), seen.uncounted)
  end
  digest.n = 0
  if digest.missed > 0 then
    counter.add(self.shm.not_learned, digest.missed)
    digest.missed = 0
  end
end

-- What the engine calls ---------------------------------------------------------------

function Host:pull()
  if self.digest.n > 0 then self:learn_all() end
end

-- Make the packet the answer, if it is an echo request to our address; whether it is.
local function answer_echo(s, p)
  local data, is_ip4 = p.data, s.family == 4
  local at = (is_ip4 and echo.request4 or echo.request6)(data, p.length)
  if at == 0 or ffi.string(data + (is_ip4 and 30 or 38), #s.address) ~= s.address then
    return false
  end
  local turn = is_ip4 and echo.turn4 or echo.turn6
  turn(data, at, s.ttl)
  return true
end

--- Take a packet that is for the host, at `now` (seconds).
function Host:receive(p, now)
  local shm, s = self.shm, self.settings
  local heard = station.read(s, p)
  if heard then
    self.neighbours:heard(heard.address, heard.mac, now)
    packet.free(p)
    if heard.answer then
      counter.add(shm.answered)
      self:send(heard.answer)
    end
  elseif s.ping and answer_echo(s, p) then
    counter.add(shm.pings)
    self:send(p)
  else
    counter.add(shm.ignored)
    packet.free(p)
  end
end

function Host:push()
  local input, now = self.input.input, engine.now()
  for _ = 1, link.nreadable(input) do self:receive(link.receive(input), now) end
end

--- It can do without tick() for so long while no packet comes, in seconds.
Host.tick_seconds = 2 * REFRESH_S

function Host:tick()
  local now = engine.now()
  self.fdb:set_now(math.floor(now) + 1)
  self.restless = self.fdb:expire(self.sweep, self.gone) == self.sweep -- more may go
  if now < self.next_refresh then return end
  self.next_refresh = now + REFRESH_S
  self.neighbours:refresh(now)
  counter.set(self.shm.lost, self.neighbours.lost)
end

--- For net.keep: what was learned, and who next hops are.
function Host:kept_state() return kept(self) end

local MOST_LINES = 20 -- of remotes

local function traffic(what, item)
  local parts = {}
  for i, name in ipairs{"encapsulated", "decapsulated", "flooded"} do
    parts[i] = ("%s %d (%d bytes)"):format(name, item[name].packets, item[name].bytes)
  end
  print(("  %s: %s"):format(what, table.concat(parts, ", ")))
end

-- What each VNI has carried, and each remote that has carried something.
local function print_traffic(tunnel)
  for _, item in ipairs(state.vnis(tunnel)) do traffic("VNI " .. item.vni, item) end
  local lines, others = 0, 0
  for _, item in ipairs(state.remotes(tunnel)) do
    if item.encapsulated.packets + item.decapsulated.packets + item.flooded.packets == 0
        or lines == MOST_LINES then
      others = others + 1
    else
      lines = lines + 1
      traffic("remote " .. item.address, item)
    end
  end
  if lines == MOST_LINES then print(("  and %d other remotes"):format(others)) end
end

--- Print the counters that aren't zero, and what the tables hold.
function Host:report()
  print_traffic(self.tunnel)
  local all, ready = self.remotes:count()
  print(("  %d of %d forwarding entries, %d remotes (%d resolved)"):format(
    self.fdb:count(), self.settings.capacity, all, ready))
  for _, name in ipairs(COUNTERS) do
    local n = tonumber(counter.read(self.shm[name]))
    if n > 0 then print(("  %s %d"):format(name, n)) end
  end
end

return {Host = Host}

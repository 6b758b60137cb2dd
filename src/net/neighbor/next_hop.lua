-- SPDX-License-Identifier: Apache-2.0
-- What ARP and NDP have in common: when the next hop's MAC address is asked for, and
-- what becomes of the answer. With several queues only one process hears that, and
-- informs the others by shared memory. An alarm is raised as long as the address isn't
-- known. Packets that go south wait in the link until then, and get both addresses.
--
-- The app, of a class of next_hop.class(), has `next_ip`, `next_mac` (false: not known
-- yet), `self_mac`, `neighbors` (a cache that knows when to ask), `restless`
-- (core.repush: until it has asked), `alarm`, `alarm_notification`,
-- `shared_next_mac_key` and `protocol`, a table {name = "ARP", text(string) = an
-- address as users read it, bytes = how many next_ip has, counter = the name of that of
-- the next hop's address}.

local arp = require("net.neighbor.arp")
local cache = require("net.neighbor.cache")
local ffi = require("ffi")
local counter = require("core.counter")
local failure = require("core.failure")
local lib = require("core.lib")
local link = require("core.link")
local packet = require("core.packet")
local shm = require("core.shm")
local loops = require("net.ip.loops")

local next_hop = {}

local INTERVAL_SECONDS = 3 -- between requests
local NEXT_HOP = 1 -- its key in `neighbors`
local ETHERNET = 14 -- bytes of its header

local mac_t = ffi.typeof("uint8_t[6]")
local number_t = ffi.typeof("union { uint64_t number; uint8_t bytes[8]; }")

local nreadable, receive, transmit = link.nreadable, link.receive, link.transmit

local function ip_text(app)
  return app.protocol.text(ffi.string(app.next_ip, app.protocol.bytes))
end


local function random_mac()
  local mac = lib.random_bytes(6)
  mac[0] = bit.band(mac[0], 0xfc) + 2 -- locally administered, unicast
  return mac
end

-- The arguments that both have.
local ARGUMENTS = {
  self_mac = {default = false}, self_ip = {required = true},
  next_mac = {default = false}, next_ip = {default = false},
  alarm_notification = {default = false}, shared_next_mac_key = {},
}

--- An app of the class, whose arguments are those of both and `more`; `alarm` has
--- raise() and clear(). It asks at once.
function next_hop.new(class, arg, more, alarm)
  local name, arguments = class.protocol.name, {}
  for _, list in ipairs{ARGUMENTS, more} do
    for key, of in pairs(list) do arguments[key] = of end
  end
  local app = setmetatable(lib.parse(arg, arguments), class)
  if not (app.next_mac or app.next_ip) then
    failure.usage("%s needs next_ip, to find the next hop's MAC address, or next_mac",
      name)
  end
  app.has_random_mac = not app.self_mac
  app.self_mac = app.self_mac or random_mac()
  arp.check_own(name, app.self_mac)
  app.alarm = alarm
  app.neighbors, app.restless = cache.new{between = INTERVAL_SECONDS,
    entry_capacity = 1}, true
  return app
end

-- Do two apps ask for the same address?
local function same_next_ip(a, b)
  if not (a.next_ip and b.next_ip) then return false end
  local size = a.protocol.bytes
  return ffi.string(a.next_ip, size) == ffi.string(b.next_ip, size)
end

--- For the classes' reconfig_keeps (core.move.renewal): the MAC address of the same
--- next hop is known still, and one of its own that nobody chose stays.
function next_hop.kept(fresh, running)
  local names = {"alarm"}
  if fresh.has_random_mac and running.has_random_mac then names[2] = "self_mac" end
  if not fresh.next_mac and same_next_ip(fresh, running) then
    for _, name in ipairs{"next_mac", "neighbors", "next_line"} do
      names[#names + 1] = name
    end
  else
    counter.set(running.shm[running.protocol.counter], 0)
  end
  return names
end

-- Put the address where other processes look for it.
local function share(app, mac)
  local key = app.shared_next_mac_key
  local ok, shared = pcall(shm.create, key, mac_t)
  if not ok then ok, shared = pcall(shm.open, key, mac_t) end
  if not ok then
    print(("warning: %s: failed to update shared next MAC key!"):format(
      app.protocol.name:lower()))
    return
  end
  ffi.copy(shared, mac, 6)
  shm.unmap(shared)
end

local function resolved(app, mac)
  if engine.now() >= (app.next_line or 0) then
    app.next_line = app.next_mac and engine.now() + INTERVAL_SECONDS
    print(("%s: '%s' resolved (%s)"):format(app.protocol.name, ip_text(app),
      app.protocol.text(ffi.string(mac, 6))))
  end
  if app.alarm_notification then app.alarm:clear() end
  app.next_mac, app.restless = mac, true -- (others look for it in their tick())
  local number = number_t()
  ffi.copy(number.bytes, mac, 6)
  counter.set(app.shm[app.protocol.counter], number.number)
end

--- The app has heard that the address is in the 6 bytes at `bytes`. What it knows isn't
--- told again, and changes, which anybody could send by the thousands, now and then.
function next_hop.heard(app, bytes)
  if app.next_mac and ffi.C.memcmp(app.next_mac, bytes, 6) == 0 then return end
  local mac = mac_t()
  ffi.copy(mac, bytes, 6)
  resolved(app, mac)
  if app.shared_next_mac_key then share(app, mac) end
end

-- Is the next hop to be asked for now? Then its time is noted, and told.
local function is_due(app)
  local list, now = app.neighbors, engine.now()
  if not list:poll(list:ensure(NEXT_HOP, now), now) then return false end
  print(("%s: Resolving '%s'"):format(app.protocol.name, ip_text(app)))
  if app.alarm_notification then app.alarm:raise() end
  return true
end

-- Has another process told it? (It is mapped, not copied: it will be what that process
-- makes it.)
local function look(app)
  if not app.shared_next_mac_key then return end
  local ok, mac = pcall(shm.open, app.shared_next_mac_key, mac_t)
  if ok then resolved(app, mac) end
end

--- Look for the next hop, as long as it isn't known: by ask(app, south), which sends a
--- request, now and then, and by what other processes have heard.
function next_hop.seek(app, ask)
  app.restless = false
  if app.next_mac then return end
  local south = app.output.south
  if south and is_due(app) then ask(app, south) end
  look(app)
end

-- Write both addresses into packets to the next hop. What is no frame is too_short's.
local function to_next_hop(app, input, south, n)
  local next_mac, self_mac, too_short = app.next_mac, app.self_mac, app.too_short
  for _ = 1, n do
    local p = receive(input)
    if p.length < ETHERNET then
      too_short(app, p, south)
    else
      ffi.copy(p.data, next_mac, 6)
      ffi.copy(p.data + 6, self_mac, 6)
      transmit(south, p)
    end
  end
end

-- Messages end here.
local function take(app, p, south)
  if not app.is_message(p.data, p.length) then return false end
  app:listen(p, south)
  packet.free(p)
  return true
end

-- Push what comes from the south, and once the next hop is known, what goes there.
local function push(app, from_south)
  local input, output = app.input, app.output
  next_hop.seek(app, app.ask)
  from_south(app, input.south, output.north, output.south, nreadable(input.south))
  if app.next_mac then
    to_next_hop(app, input.north, output.south, nreadable(input.north))
  end
end

--- Make `class` one of them. It has `protocol`, `shm`, and these functions:
--- ask(app, south) sends a request; is_message(data, length) says if a frame from the
--- south is one that listen(app, p, south) reads; too_short(app, p, south) takes what
--- goes south and is no frame. `counted` names the messages that count() counts: two
--- counters each.
function next_hop.class(class, counted)
  local from_south = loops.take_or_pass(take)
  class.needs_packets, class.tick_seconds = true, 0.2
  class.__index, class.reconfig_keeps = class, next_hop.kept
  class.shm[class.protocol.counter] = {counter}
  for _, name in ipairs(counted) do
    class.shm[name .. "-bytes"], class.shm[name .. "-packets"] = {counter}, {counter}
  end
  function class:tick() next_hop.seek(self, self.ask) end
  function class:push() push(self, from_south) end
  return class
end

--- Count the packet under the name `what`.
function next_hop.count(app, what, p)
  counter.add(app.shm[what .. "-bytes"], p.length)
  counter.add(app.shm[what .. "-packets"])
end

return next_hop

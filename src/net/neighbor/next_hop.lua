-- SPDX-License-Identifier: Apache-2.0
-- What ARP and NDP have in common: when the next hop's MAC address is asked for, and
-- what becomes of the answer. With several queues only one process hears that, and
-- informs the others by shared memory. Where lib.yang.alarms is to be had (Snabb's), an
-- alarm is raised as long as the address isn't known.
--
-- The app has `next_ip`, `next_mac` (false: not known yet), `self_mac`, `neighbors` (a
-- cache that knows when to ask), `restless` (core.repush: until it has asked), `alarm`,
-- `alarm_notification`, `shared_next_mac_key` and `protocol`, a table {name = "ARP",
-- address = the C type of next_ip, counter = the name of that of the next hop's
-- address, what = what it resolves, as alarms say}.

local arp = require("net.neighbor.arp")
local cache = require("net.neighbor.cache")
local ffi = require("ffi")
local address = require("lib.stack.address")
local counter = require("core.counter")
local lib = require("core.lib")
local shm = require("core.shm")
local snabb_alarm = require("lib.snabb_alarm")

local next_hop = {}

local INTERVAL_SECONDS = 3 -- between requests
local NEXT_HOP = 1 -- its key in `neighbors`

local mac_t = ffi.typeof("uint8_t[6]")
local number_t = ffi.typeof("union { uint64_t number; uint8_t bytes[8]; }")
local mac_p = ffi.typeof("$ *", address.Mac)

local function text(kind, bytes) return ffi.cast(kind, bytes)[0]:getString() end

local function ip_text(app)
  return text(ffi.typeof("$ *", app.protocol.address), app.next_ip)
end

local function random_mac()
  local mac = lib.random_bytes(6)
  mac[0] = bit.band(mac[0], 0xfc) + 2 -- locally administered, unicast
  return mac
end

local function new_alarm(protocol)
  return snabb_alarm.declare(protocol.name:lower() .. "-resolution", {
    severity = "critical",
    description = ("Raise up if %s app cannot resolve %s"):format(protocol.name,
      protocol.what),
    text = ("Make sure you can %s resolve IP addresses on NIC"):format(protocol.name)})
end

--- Give the app what is missing: an address of its own, and the alarm. It asks at once.
function next_hop.begin(app)
  app.has_random_mac = not app.self_mac
  app.self_mac = app.self_mac or random_mac()
  arp.check_own(app.protocol.name, app.self_mac)
  app.alarm = new_alarm(app.protocol)
  app.neighbors, app.restless = cache.new{between = INTERVAL_SECONDS}, true
end

-- Do two apps ask for the same address?
local function same_next_ip(a, b)
  if not (a.next_ip and b.next_ip) then return false end
  local size = ffi.sizeof(a.protocol.address)
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
      text(mac_p, mac)))
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

--- Count the packet under the name `what`.
function next_hop.count(app, what, p)
  counter.add(app.shm[what .. "-bytes"], p.length)
  counter.add(app.shm[what .. "-packets"])
end

return next_hop

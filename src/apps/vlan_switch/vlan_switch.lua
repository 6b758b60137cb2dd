-- SPDX-License-Identifier: Apache-2.0
-- VlanSwitch: an Ethernet switch whose ports have a VLAN and a MAC address each, and a
-- trunk: what a card does by its queues for virtual machines (VMDq), in software. A
-- burst of packets at a time (vlan_switch.c); here are the ports, and copies for
-- several of them.

local ffi = require("ffi")
local C = require("core.declare")("apps/vlan_switch/vlan_switch.h")
local arguments = require("core.lib.arguments")
local stack_address = require("lib.stack.address")
local counter = require("core.counter")
local engine = require("core.app")
local failure = require("core.failure")
local fdb = require("net.fdb.fdb")
local fdb_kept = require("net.fdb.kept")
local link = require("core.link")
local packet = require("core.packet")
local pool = require("core.pool")

local clone, free, transmit = packet.clone, packet.free, link.transmit

local BURST = C.PORT_BURST
local TRUNK = 0 -- the number of the trunk
local MOST_VLAN, MOST_PORTS = 4094, 4096
local REASONS = {"short", "oversize", "unknown_vlan", "unknown_mac", "own_port",
  "tagged"} -- enum vswitch_drop

local VlanSwitch = {
  config = {
    ports = {required = true},
    trunk = {},
    timeout = {default = 300},
    addresses = {default = 4096},
  },
  shm = {flooded = {counter}},
}
VlanSwitch.__index = VlanSwitch
VlanSwitch.division = "none"
VlanSwitch.undivided = "copies would learn different tables of addresses"
for _, reason in ipairs(REASONS) do VlanSwitch.shm["drop_" .. reason] = {counter} end

-- The argument --------------------------------------------------------------------

local word = ffi.new("union { uint64_t number; uint8_t bytes[8]; }")

-- The address as C reads its 6 bytes.
local function number_of(mac, of)
  local parsed = type(mac) == "string" and stack_address.parseMacAddress(mac)
  if not parsed then
    failure.usage("%s: '%s' is no MAC address; write one such as 52:54:00:00:00:01", of,
      tostring(mac))
  end
  word.number = 0
  ffi.copy(word.bytes, parsed, 6)
  if word.bytes[0] % 2 == 1 then
    failure.usage("%s: %s is the address of a group; a port has one of its own", of,
      mac)
  end
  return word.number + 0
end

local function check_port(port, seen)
  local name = type(port) == "table" and port.name
  if type(name) ~= "string" then
    failure.usage("each of a VlanSwitch's ports is a table with a `name`")
  elseif seen[name] then
    failure.usage("a VlanSwitch has two ports '%s'", name)
  end
  seen[name] = true
  local vlan = port.vlan or 0
  arguments.whole(("port '%s' of a VlanSwitch: a VLAN"):format(name), vlan, 0,
    MOST_VLAN)
  return {name = name, vlan = vlan, mac = port.mac}
end

-- The ports, by number: a list of {name =, vlan =, mac = or nil}.
local function ports_of(arg)
  if type(arg.ports) ~= "table" or #arg.ports > MOST_PORTS then
    failure.usage("a VlanSwitch's `ports` are a list of up to %d", MOST_PORTS)
  end
  arguments.whole("a VlanSwitch's timeout", arg.timeout, 1, 1e6)
  arguments.whole("a VlanSwitch's addresses", arg.addresses, 1, 2 ^ 24)
  local list, seen = {}, {[arg.trunk or false] = true}
  for i, port in ipairs(arg.ports) do list[i] = check_port(port, seen) end
  return list
end

local function key_of(vlan, mac, of)
  local bytes = ffi.new("uint64_t[1]", number_of(mac, of))
  return fdb.key(ffi.cast("uint8_t *", bytes), vlan)
end

-- The database, with the ports' own addresses. It has room for `more`.
local function fill(s, ports, more, timeout)
  local own = 0
  for _, port in ipairs(ports) do own = own + (port.mac and 1 or 0) end
  local addresses = fdb.new({limit = math.max(own + more, 1), timeout = timeout,
    reserve = own}, s.fdb)
  addresses:set_now(engine.now())
  for i, port in ipairs(ports) do
    local of = ("port '%s' of a VlanSwitch"):format(port.name)
    local key = port.mac and key_of(port.vlan, port.mac, of)
    if key and addresses:port(key) then
      failure.usage("%s: another port of VLAN %d has the address %s, too", of,
        port.vlan, port.mac)
    elseif key then
      addresses:fix(key, i)
    end
  end
  return addresses
end

-- To which ports a flooded frame may go, by VLAN: lists of numbers; `all` ports, or
-- those that are `open`, without an address.
local function segments(s, ports)
  local all, open = {}, {}
  for i, port in ipairs(ports) do
    local vlan = port.vlan
    all[vlan], open[vlan] = all[vlan] or {}, open[vlan] or {}
    table.insert(all[vlan], i)
    s.used[vlan] = 1
    if not port.mac then
      table.insert(open[vlan], i)
      s.open[vlan] = 1
    end
  end
  return all, open
end

-- Room for how many addresses beside the ports' own. Where all ports have one, none is
-- learned. Else there is four times the room that was asked for, or there would be
-- none for a network that has grown.
local function learned(ports, arg)
  for _, port in ipairs(ports) do
    if not port.mac then return 4 * arg.addresses end
  end
  return 0
end

-- What follows from the argument, a table; nothing of a running app has changed then.
local function build(arg)
  local ports = ports_of(arg)
  local s, hold = ffi.new("struct vswitch"), {}
  hold.vlan = ffi.new("uint16_t[?]", #ports + 1)
  hold.learns = ffi.new("uint8_t[?]", #ports + 1)
  hold.out = ffi.new("struct link *[?]", #ports + 1)
  s.vlan, s.learns, s.out = hold.vlan, hold.learns, hold.out
  s.has_trunk = arg.trunk and 1 or 0
  hold.learns[TRUNK] = 1
  for i, port in ipairs(ports) do
    hold.vlan[i], hold.learns[i] = port.vlan, port.mac and 0 or 1
  end
  local addresses = fill(s, ports, learned(ports, arg), arg.timeout)
  local all, open = segments(s, ports)
  return {s = s, hold = hold, addresses = addresses, ports = ports, all = all,
    open = open, trunk = arg.trunk, places = 0}
end

--- VlanSwitch{ports = {{name =, vlan =, mac =}, ...}, trunk = NAME}: the README tells.
function VlanSwitch:new(arg)
  return setmetatable(build(arg), self)
end

--- Other ports, of a switch that runs: what is in its links stays. Addresses that were
--- learned are learned again.
function VlanSwitch:reconfig(arg)
  local built = build(arg)
  self.former = self.addresses
  for key, value in pairs(built) do self[key] = value end
  if self.input then self:link() end
end

--- The engine tells which links there are.
function VlanSwitch:link()
  local s, hold, most = self.s, self.hold, #self.ports + 1
  hold.links = ffi.new("struct link *[?]", most + 1) -- the last stays NULL
  hold.numbers = ffi.new("uint16_t[?]", most)
  s.links, s.numbers = hold.links, hold.numbers
  self.places = 0
  for number = TRUNK, #self.ports do
    local name = number == TRUNK and self.trunk or number ~= TRUNK
      and self.ports[number].name
    local input, output = self.input[name], self.output[name]
    hold.out[number] = output
    if input then
      hold.links[self.places], hold.numbers[self.places] = input, number
      self.places = self.places + 1
    end
  end
end
VlanSwitch.unlink = VlanSwitch.link

--- For net.keep: addresses that were learned, at ports that still learn.
function VlanSwitch:kept_state()
  local names = {[TRUNK] = self.trunk}
  for i, port in ipairs(self.ports) do names[i] = port.name end
  local notes, port_now, numbers = fdb_kept.by_name(names)
  local learns = self.hold.learns
  local item = fdb_kept.item(self.addresses, {of = "addresses", notes = notes,
    numbers = numbers, port = function (number, text)
      local now, why = port_now(number, text)
      if now and learns[now] == 0 then return nil, "of a port that doesn't learn" end
      return now, why
    end})
  local former = self.former -- whose file is this one's from now on
  self.former = nil
  function item.done()
    if former then former:close() end
    former = nil
  end
  return {item}
end

-- Packets -------------------------------------------------------------------------

-- Copies of the packet to the ports `to` but `from`; the packet itself to the trunk.
local function flood(self, p, vlan, to, from)
  local out = self.s.out
  for i = 1, #to do
    local number = to[i]
    if number ~= from and out[number] ~= nil then transmit(out[number], clone(p)) end
  end
  if from == TRUNK or out[TRUNK] == nil then return free(p) end
  if C.pg_vswitch_tag(p, vlan) then return transmit(out[TRUNK], p) end
  counter.add(self.shm.drop_oversize)
  free(p)
end

local function flood_all(self, n, from)
  local s = self.s
  counter.add(self.shm.flooded, n)
  for i = 0, n - 1 do
    local vlan = s.flood_vlan[i]
    local lists = s.flood_all[i] ~= 0 and self.all or self.open
    flood(self, s.flood[i], vlan, lists[vlan], from)
  end
end

local function drop(self, n)
  local s = self.s
  for i = 0, n - 1 do free(s.drop[i]) end
  for i, reason in ipairs(REASONS) do
    counter.add(self.shm["drop_" .. reason], s.dropped[i])
    s.dropped[i] = 0
  end
end

local function forward(self, place)
  local s = self.s
  local n
  repeat
    n = C.pg_vswitch(s, pool.freelist, place)
    if s.floods > 0 then flood_all(self, s.floods, s.numbers[place]) end
    if s.drops > 0 then drop(self, s.drops) end
  until n < BURST
end

VlanSwitch.needs_packets = true

function VlanSwitch:push()
  self.s.fdb.now = engine.now()
  for place = 0, self.places - 1 do forward(self, place) end
end

--- The name of the port that frames of that VLAN for the address (text) go to, or nil.
function VlanSwitch:port_of(vlan, mac)
  local number = self.addresses:port(key_of(vlan, mac, "a frame"))
  if not number then return nil end
  return number == TRUNK and self.trunk or self.ports[number].name
end

return {VlanSwitch = VlanSwitch}

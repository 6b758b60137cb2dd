-- SPDX-License-Identifier: Apache-2.0
-- The graph of `perigee lwaftr run`: the lwAFTRs of all queues, and the ports between
-- which they are. A port that one side of one queue has is linked with it; one that
-- several have is shared: by its queues, or by VLAN and MAC address
-- (apps.lwaftr.stations).

local config = require("core.config")
local dataplane = require("program.lwaftr.dataplane")
local failure = require("core.failure")
local iface = require("lib.port.iface")
local kinds = require("lib.port.kinds")
local lib = require("core.lib")
local spec = require("lib.port.spec")
local values = require("apps.lwaftr.conf_values")
local Port = require("apps.port.port").Port
local Stations = require("apps.lwaftr.stations").Stations

local ports = {}

--- The port string of what a configuration calls a device: a PCI address, the name of a
--- kernel interface (`kind`: "packet" or "xdp"), or a port string already.
function ports.string(device, kind)
  local is_name = device:match("^[%w_.-]+$") and not device:match("^%d+$")
  return is_name and iface.read(device) and kind .. ":" .. device or device
end

-- What of a queue is on which port.
local function attachments(queue, kind)
  local external, internal =
    queue.settings.external_interface, queue.settings.internal_interface
  local v4 = {queue = queue, family = "v4", mac = external.mac,
    vlan = external.vlan_tag}
  local v6 = {queue = queue, family = "v6", mac = internal.mac,
    vlan = internal.vlan_tag}
  local port = ports.string(queue.device, kind)
  local other = ports.string(queue.external_device or queue.device, kind)
  if other ~= port then return {[other] = {v4}, [port] = {v6}} end
  if v4.vlan ~= v6.vlan and lib.equal(v4.mac, v6.mac) then
    failure.usage("instance '%s', queue %d: on one interface, an external and an "
      .. "internal one of different VLANs need different MAC addresses, not both %s",
      queue.device, queue.id, values.mac.write(v4.mac))
  end
  if v4.vlan == v6.vlan and lib.equal(v4.mac, v6.mac) then
    return {[port] = {{queue = queue, mac = v4.mac, vlan = v4.vlan}}}
  end
  return {[port] = {v4, v6}}
end

-- Are the queues' stations on a port alike, one by one? Then a card's own queues can
-- share its flows among them.
local function alike(list)
  local first = {}
  for _, station in ipairs(list) do
    local same = first[station.family or "both"]
    first[station.family or "both"] = same or station
    if same and not (lib.equal(same.mac, station.mac)
        and same.vlan == station.vlan) then
      return false
    end
  end
  return true
end

local function by_queue(list)
  local found, names = {}, {}
  for _, station in ipairs(list) do
    local suffix = station.queue.suffix
    if not found[suffix] then names[#names + 1] = suffix end
    found[suffix] = found[suffix] or {}
    table.insert(found[suffix], station)
  end
  return found, names
end

local Wiring = {}
Wiring.__index = Wiring

function Wiring:app(name, class, arg, queue)
  config.app(self.c, name, class, arg)
  local cpu = self.cpu_of[queue.suffix]
  if cpu then config.cpu(self.c, name, cpu) end
end

local NAMES = {v4 = "inetNic", v6 = "b4sideNic", both = "nic"} -- upstream's

-- One station has a port, or a queue of one, for itself.
function Wiring:alone(station, arg)
  local kind = station.family or "both"
  local nic = NAMES[kind] .. station.queue.suffix
  self:app(nic, Port, arg, station.queue)
  self.ends[station.queue.suffix][kind] = {nic .. ".output", nic .. ".input"}
end

-- Several stations share a port.
function Wiring:shared(list, arg, suffix)
  if #list == 1 then return self:alone(list[1], arg) end
  local queue, stations = list[1].queue, {}
  local nic, share = "nic" .. suffix, "stations" .. suffix
  for i, station in ipairs(list) do
    stations[i] = {name = "s" .. i, mac = station.mac, vlan = station.vlan,
      family = station.family}
    local ends = self.ends[station.queue.suffix]
    local place = ("%s.s%d"):format(share, i)
    local kind = station.family or "both"
    ends[kind], ends.untagged[kind] = {place, place}, true
  end
  self:app(nic, Port, arg, queue)
  self:app(share, Stations, {stations = stations}, queue)
  config.link(self.c, ("%s.output -> %s.input"):format(nic, share))
  config.link(self.c, ("%s.output -> %s.input"):format(share, nic))
end

function Wiring:port(text, list)
  local found, names = by_queue(list)
  local has_queues = kinds.has_queues(spec.parse(text))
  if not (has_queues and #names > 1 and alike(list)) then
    return self:shared(list, text, "@" .. text:gsub("[^%w_]", "_"))
  end
  for i, suffix in ipairs(names) do
    self:shared(found[suffix], {port = text, queues = #names, queue = i - 1}, suffix)
  end
end

-- A port for copies of packets: there is one, so one queue has it.
function Wiring:mirror(queue)
  local port = self.options.mirror
  if not port then return nil end
  if self.mirrored or not self.ends[queue.suffix].both then
    failure.usage("--mirror %s: packets are mirrored where there is one queue, whose "
      .. "sides are on one interface with one MAC address and VLAN", port)
  end
  self.mirrored = true
  self:app("mirror", Port, port, queue)
  return "mirror.input"
end

local function add_lwaftr(wiring, queue)
  local ends = wiring.ends[queue.suffix]
  dataplane.add(wiring.c, queue, {
    binding = wiring.options.binding, cpu = wiring.cpu_of[queue.suffix],
    v4 = ends.v4, v6 = ends.v6, both = ends.both, untagged = ends.untagged,
    mirror = wiring:mirror(queue),
  })
end

--- The configuration (core.config) of the lwAFTRs `list` (program.lwaftr.queues).
--- `options`: binding = the binding table; kind = "packet" or "xdp", for kernel
--- interfaces; cpus = a list, on which the queues are placed in turn (nil: all in the
--- main thread); mirror = a port string, for copies of packets (apps.lwaftr.V4V6).
function ports.graph(list, options)
  local wiring = setmetatable({c = config.new(), options = options, ends = {},
    cpu_of = {}}, Wiring)
  local on, texts = {}, {}
  for i, queue in ipairs(list) do
    local cpus = options.cpus
    wiring.cpu_of[queue.suffix] = cpus and cpus[(i - 1) % #cpus + 1]
    wiring.ends[queue.suffix] = {untagged = {}}
    for text, stations in pairs(attachments(queue, options.kind)) do
      if not on[text] then texts[#texts + 1] = text end
      on[text] = on[text] or {}
      for _, station in ipairs(stations) do table.insert(on[text], station) end
    end
  end
  table.sort(texts)
  for _, text in ipairs(texts) do wiring:port(text, on[text]) end
  for _, queue in ipairs(list) do add_lwaftr(wiring, queue) end
  return wiring.c
end

return ports

-- SPDX-License-Identifier: Apache-2.0
-- All apps of one queue of an lwAFTR, under upstream's names: the fast paths (inet,
-- b4), and the slow one behind them, which has reassembly, filters, the next hops,
-- echo, LwAftr and fragmentation, on each side.

local ffi = require("ffi")
local Binding = require("apps.lwaftr.binding")
local config = require("core.config")
local ends = require("apps.lwaftr.graph_ends")
local fast = require("apps.lwaftr.fast")
local filtered = require("apps.lwaftr.filtered")
local instance = require("apps.lwaftr.instance")
local ARP = require("apps.ipv4.arp").ARP
local LwAftr = require("apps.lwaftr.lwaftr").LwAftr
local NDP = require("apps.lwaftr.ndp").NDP
local PcapFilter = require("apps.packet_filter.pcap_filter").PcapFilter

local graph = {}

-- Bindings made here, by configuration: until its apps have them, nobody else does.
local kept = setmetatable({}, {__mode = "k"})

local function ip4_bytes(n)
  return n and ffi.new("uint8_t[4]", math.floor(n / 2^24), math.floor(n / 2^16) % 256,
    math.floor(n / 2^8) % 256, n % 256)
end

-- Apps of one side by what differs between the two.
local SIDES = {
  {family = "v4", version = "ipv4", resolver = "arp", class = ARP, entrance = "inet",
    interface = "external_interface", address = ip4_bytes},
  {family = "v6", version = "ipv6", resolver = "ndp", class = NDP, entrance = "b4",
    interface = "internal_interface", address = function (ip) return ip end},
}

-- What is being built: `c`, the `conf` of one queue, its `queue` settings and `device`,
-- a `suffix` of the apps' names, the `names` so far, and whether there `is_fast` way.
local Building = {}
Building.__index = Building

function Building:app(name, class, arg)
  name = name .. self.suffix
  config.app(self.c, name, class, arg)
  self.names[#self.names + 1] = name
  return name
end

-- An end ("arp.south") of an app of ours.
function Building:at(spec)
  local name, port = spec:match("^(%S+)%.([^.]+)$")
  return ("%s%s.%s"):format(name, self.suffix, port)
end

function Building:link(from, to)
  config.link(self.c, ("%s -> %s"):format(self:at(from), self:at(to)))
end

function Building:filter(name, text, side, direction)
  if not text then return false end
  name = name .. side.family
  self:app(name, PcapFilter,
    {filter = text, alarm_type_qualifier = direction .. "-" .. side.family})
  return {name, "input", "output"}
end

-- Where packets that the fast way leaves over join those that have been put together
-- and filtered.
function Building:filtered(conf, side)
  if not (self.is_fast and conf.ingress_filter) then return false end
  local name = "filtered" .. side.family
  self:app(name, fast.Join)
  return {name, "whole", "output"}
end

-- Link along `chain`, a list of {app, input, output} or false; returns its two ends.
function Building:chain(chain)
  local first, from
  for _, step in ipairs(chain) do
    if step then
      local into = step[1] .. "." .. step[2]
      first = first or into
      if from then self:link(from, into) end
      from = step[1] .. "." .. step[3]
    end
  end
  return first, from
end

-- The slow way --------------------------------------------------------------------

function Building:slow_side(side)
  local conf = self.conf.softwire_config[side.interface]
  local own = self.queue[side.interface]
  local reassembler = "reassembler" .. side.family
  local fragmenter, echo = "fragmenter" .. side.family, "icmpecho" .. side.family
  local room = "apps." .. side.version
  self:app(reassembler, require(room .. ".reassemble").Reassembler, {
    max_concurrent_reassemblies = conf.reassembly.max_packets,
    max_fragments_per_reassembly = conf.reassembly.max_fragments_per_packet})
  self:app(echo, require(room .. ".echo").ICMPEcho, {address = side.address(own.ip)})
  self:app(fragmenter, require(room .. ".fragment").Fragmenter, {mtu = conf.mtu})
  self:app(side.resolver, side.class, {
    self_ip = side.address(own.ip), self_mac = own.mac, next_mac = own.next_hop.mac,
    next_ip = side.address(own.next_hop.ip),
    shared_next_mac_key = ("group/%s-%s-next-mac-%d"):format(self.device, side.version,
      own.vlan_tag or 0)})
  local lwaftr = "lwaftr." .. side.family
  local first, last = self:chain{
    {reassembler, "input", "output"},
    self:filter("ingress_filter", conf.ingress_filter, side, "ingress"),
    self:filtered(conf, side),
    {side.resolver, "south", "north"}, {echo, "south", "north"}}
  self:link(last, lwaftr)
  -- An echo reply goes back to the MAC address that its request came from.
  local out, fragments = self:chain{
    {side.resolver, "north", "south"}, {echo, "north", "south"},
    self:filter("egress_filter", conf.egress_filter, side, "egress"),
    {fragmenter, "input", "output"}}
  self:link(lwaftr, out)
  return {first, {fragments}}
end

function Building:slow()
  self:app("lwaftr", LwAftr, self.conf)
  local result = {}
  for _, side in ipairs(SIDES) do result[side.family] = self:slow_side(side) end
  self:link("lwaftr.hairpin_out", "lwaftr.hairpin_in")
  return result
end

-- The fast way ----------------------------------------------------------------------

-- Fragments are filtered when they have been put together, others before the fast way.
function Building:fast_entrance(side, slow)
  local filter = self:filter("fast_ingress_filter",
    self.conf.softwire_config[side.interface].ingress_filter, side, "ingress")
  local entrance = side.entrance
  if not filter then
    self:link(entrance .. ".slow", slow)
    return entrance .. ".input"
  end
  local whole = "whole" .. side.family
  self:app(whole, filtered["Whole" .. side.family])
  self:link(whole .. ".whole", filter[1] .. ".input")
  self:link(whole .. ".rest", slow)
  self:link(filter[1] .. ".output", entrance .. ".input")
  self:link(entrance .. ".slow", ("filtered%s.slow"):format(side.family))
  return whole .. ".input"
end

-- From `sources`, the fast ways' outputs, and from the slow one: a list of ends.
function Building:fast_exit(side, sources, slow)
  local filter = self:filter("fast_egress_filter",
    self.conf.softwire_config[side.interface].egress_filter, side, "egress")
  if not filter then
    local list = {unpack(sources)}
    list[#list + 1] = slow
    return list
  end
  local join, sent = "fast" .. side.family, "sent" .. side.family
  self:app(join, fast.Join)
  self:app(sent, filtered["Sent" .. side.family])
  for _, source in ipairs(sources) do
    self:link(source, ("%s.%s"):format(join, source:match("^%w+")))
  end
  self:link(join .. ".output", filter[1] .. ".input")
  self:link(filter[1] .. ".output", sent .. ".input")
  return {sent .. ".output", slow}
end

function Building:fast(slow)
  local arg = {conf = self.conf, arp = "arp" .. self.suffix, ndp = "ndp" .. self.suffix}
  self:app("inet", fast.Inet, arg)
  self:app("b4", fast.B4, arg)
  local sources = {v4 = {"b4.v4"}, v6 = {"inet.v6", "b4.v6"}}
  local result = {}
  for _, side in ipairs(SIDES) do
    local family = side.family
    result[family] = {self:fast_entrance(side, slow[family][1]),
      self:fast_exit(side, sources[family], slow[family][2][1])}
  end
  return result
end

-- All -----------------------------------------------------------------------------

-- The configuration of one queue as plain data, so that apps on other CPUs can have it.
local function plain(conf, device, id, queue, binding)
  local all = conf.softwire_config
  return {softwire_config = {
    name = all.name, binding_table = {shared = binding.id},
    external_interface = all.external_interface,
    internal_interface = all.internal_interface,
    instance = {[device] = {queue = {[id] = queue}}},
  }}
end

--- Add the apps of one queue of the configuration `conf` to `c`, and return the list of
--- their names. `o` has:
---   v4, v6: where frames come from, and go to: {"APP.LINK", "APP.LINK"};
---   on_a_stick: true if v4 is the interface for both, and there is no v6;
---   device, queue: which instance and queue (if `conf` has several);
---   binding: the apps.lwaftr.binding they share (one of conf's softwires);
---   suffix: behind the names of the apps (""), for several queues in one graph;
---   fast: false for the slow way alone.
function graph.add(c, conf, o)
  local device, id, queue = instance.queue(conf, o.device, o.queue)
  local binding = o.binding
    or Binding.new(instance.softwires(conf.softwire_config.binding_table))
  kept[c] = binding
  local building = setmetatable({
    c = c, conf = plain(conf, device, id, queue, binding), queue = queue,
    device = device, suffix = o.suffix or "", names = {}, is_fast = o.fast ~= false,
  }, Building)
  local ways = building:slow()
  if building.is_fast then ways = building:fast(ways) end
  ends.link(building, ways, o)
  return building.names
end

return graph

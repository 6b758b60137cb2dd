-- SPDX-License-Identifier: Apache-2.0
-- The apps around an LwAftr, in upstream's order and under its names: reassembly,
-- filters, the next hops, echo and fragmentation, on each side. Whoever adds ports to
-- them links `v4` and `v6` of what M.lwaftr returns.

local ffi = require("ffi")
local config = require("core.config")
local instance = require("apps.lwaftr.instance")
local ARP = require("apps.ipv4.arp").ARP
local LwAftr = require("apps.lwaftr.lwaftr").LwAftr
local NDP = require("apps.lwaftr.ndp").NDP
local PcapFilter = require("apps.packet_filter.pcap_filter").PcapFilter
local V4V6 = require("apps.lwaftr.V4V6").V4V6
local basic = require("apps.basic.basic_apps")
local vlan = require("apps.vlan.vlan")

local M = {}

local function ip4_bytes(n)
  return n and ffi.new("uint8_t[4]", math.floor(n / 2^24), math.floor(n / 2^16) % 256,
    math.floor(n / 2^8) % 256, n % 256)
end

-- Apps of one side by what differs between the two.
local SIDES = {
  {family = "v4", version = "ipv4", resolver = "arp", class = ARP,
    interface = "external_interface", address = ip4_bytes},
  {family = "v6", version = "ipv6", resolver = "ndp", class = NDP,
    interface = "internal_interface", address = function (ip) return ip end},
}

local function filter(c, name, text, side, direction)
  if not text then return end
  config.app(c, name, PcapFilter,
    {filter = text, alarm_type_qualifier = direction .. "-" .. side.family})
  return {name, "input", "output"}
end

-- Links along `chain`, a list of {app, input, output}, from `first` to `last`.
local function chain_up(c, first, chain, last)
  local from = first
  for i = 1, table.maxn(chain) do
    local step = chain[i]
    if step then
      if from then config.link(c, ("%s -> %s.%s"):format(from, step[1], step[2])) end
      from = step[1] .. "." .. step[3]
    end
  end
  if last then config.link(c, ("%s -> %s"):format(from, last)) end
end

local function side_of(c, side, conf, device, queue)
  local all = conf.softwire_config[side.interface]
  local own = queue[side.interface]
  local reassembler = "reassembler" .. side.family
  local fragmenter, echo = "fragmenter" .. side.family, "icmpecho" .. side.family
  local room = "apps." .. side.version
  config.app(c, reassembler, require(room .. ".reassemble").Reassembler, {
    max_concurrent_reassemblies = all.reassembly.max_packets,
    max_fragments_per_reassembly = all.reassembly.max_fragments_per_packet})
  config.app(c, echo, require(room .. ".echo").ICMPEcho,
    {address = side.address(own.ip)})
  config.app(c, fragmenter, require(room .. ".fragment").Fragmenter, {mtu = all.mtu})
  config.app(c, side.resolver, side.class, {
    self_ip = side.address(own.ip), self_mac = own.mac, next_mac = own.next_hop.mac,
    next_ip = side.address(own.next_hop.ip),
    shared_next_mac_key = ("group/%s-%s-next-mac-%d"):format(device, side.version,
      own.vlan_tag or 0)})
  chain_up(c, nil, {
    {reassembler, "input", "output"},
    filter(c, "ingress_filter" .. side.family, all.ingress_filter, side, "ingress"),
    {side.resolver, "south", "north"}, {echo, "south", "north"},
  }, "lwaftr." .. side.family)
  -- An echo reply goes back to the MAC address that its request came from.
  chain_up(c, "lwaftr." .. side.family, {
    {side.resolver, "north", "south"}, {echo, "north", "south"},
    filter(c, "egress_filter" .. side.family, all.egress_filter, side, "egress"),
    {fragmenter, "input", "output"},
  })
end

--- Add an lwAFTR for the configuration `conf` (of one instance and one queue) to `c`.
--- Its ends are reassemblerv4.input, reassemblerv6.input, fragmenterv4.output and
--- fragmenterv6.output.
function M.lwaftr(c, conf)
  local device, _, queue = instance.queue(conf)
  config.app(c, "lwaftr", LwAftr, conf)
  for _, side in ipairs(SIDES) do side_of(c, side, conf, device, queue) end
  config.link(c, "lwaftr.hairpin_out -> lwaftr.hairpin_in")
  return queue
end

-- Apps that take a side's VLAN tag off and put it on; the names of their ends.
local function untag(c, family, tag, source, sink)
  if not tag then return source, sink end
  config.app(c, "untag" .. family, vlan.Untagger, {tag = tag})
  config.app(c, "tag" .. family, vlan.Tagger, {tag = tag})
  config.link(c, ("%s -> untag%s.input"):format(source, family))
  config.link(c, ("tag%s.output -> %s"):format(family, sink))
  return ("untag%s.output"):format(family), ("tag%s.input"):format(family)
end

--- Link an lwAFTR with sources and sinks (APP.LINK) of its two sides: `ends` has v4 and
--- v6, each {source, sink}. On a stick all packets go through one interface.
function M.between(c, queue, ends, on_a_stick)
  local source4, sink4 = untag(c, "v4", queue.external_interface.vlan_tag,
    unpack(ends.v4))
  local source6, sink6 = untag(c, "v6", queue.internal_interface.vlan_tag,
    unpack(ends.v6))
  if on_a_stick then
    config.app(c, "v4v6", V4V6)
    config.app(c, "splitter", V4V6)
    config.app(c, "join", basic.Join)
    config.link(c, source4 .. " -> join.in1")
    config.link(c, source6 .. " -> join.in2")
    config.link(c, "join.output -> v4v6.input")
    config.link(c, "v4v6.output -> splitter.input")
    config.link(c, "splitter.v4 -> " .. sink4)
    config.link(c, "splitter.v6 -> " .. sink6)
    source4, source6, sink4, sink6 = "v4v6.v4", "v4v6.v6", "v4v6.v4", "v4v6.v6"
  end
  config.link(c, source4 .. " -> reassemblerv4.input")
  config.link(c, source6 .. " -> reassemblerv6.input")
  config.link(c, "fragmenterv4.output -> " .. sink4)
  config.link(c, "fragmenterv6.output -> " .. sink6)
end

return M

-- SPDX-License-Identifier: Apache-2.0
-- nd_light: finds the MAC address of the next hop by neighbour discovery (RFC 4861),
-- writes an Ethernet header with it over that of packets that go south, and answers
-- solicitations of its own address. Once, for as long as it lives.

local ffi = require("ffi")
local addresses = require("lib.stack.address")
local arguments = require("core.lib.arguments")
local arp = require("net.neighbor.arp")
local cache = require("net.neighbor.cache")
local ip6 = require("net.ip.ip6")
local counter = require("core.counter")
local failure = require("core.failure")
local link = require("core.link")
local nd = require("net.neighbor.nd")
local packet = require("core.packet")
local loops = require("net.ip.loops")

local nreadable, receive, transmit = link.nreadable, link.receive, link.transmit
local UP, DOWN = 1, 2 -- values of the counter `status`
local NEXT_HOP = 1 -- its key in `neighbors`
local ETHERNET = ip6.ETHERNET -- bytes of a header

local nd_light = {
  config = {
    local_mac = {required = true}, remote_mac = {}, local_ip = {required = true},
    next_hop = {required = true}, delay = {default = 1000}, retrans = {},
    quiet = {default = false},
  },
  shm = {
    status = {counter, DOWN}, rxerrors = {counter}, txerrors = {counter},
    txdrop = {counter}, ns_checksum_errors = {counter},
    ns_target_address_errors = {counter}, na_duplicate_errors = {counter},
    na_target_address_errors = {counter}, nd_protocol_errors = {counter},
  },
}
nd_light.__index = nd_light

local ip6_p = ffi.typeof("$ *", addresses.Ip6)
local mac_p = ffi.typeof("$ *", addresses.Mac)

local function text(kind, bytes_of_it)
  return ffi.cast(kind, bytes_of_it)[0]:getString()
end

-- An address: bytes (C's or a string), or text that parse() understands.
local function address(parse, name, value, size)
  local ok = type(value) == "cdata"
    and not arguments.problem(name, size == 6 and "mac" or "ip6", value)
  if type(value) == "string" and #value == size then
    local copy = ffi.new("uint8_t[?]", size)
    ffi.copy(copy, value, size)
    return copy
  elseif type(value) == "string" then
    value = parse(value)
    ok = value ~= nil
  end
  if not ok then
    failure.usage("nd_light: %s must be an address, as text or %d bytes", name, size)
  end
  return value
end

-- The Ethernet header of what goes to the address.
local function header_to(self, mac)
  local header = ffi.new("uint8_t[?]", ETHERNET)
  ffi.copy(header, mac, 6)
  ffi.copy(header + 6, self.local_mac, 6)
  header[12], header[13] = 0x86, 0xdd
  return header
end

-- Raises what is wrong before it changes anything.
local function configure(self, arg)
  local local_mac = address(addresses.parseMacAddress, "local_mac", arg.local_mac, 6)
  arp.check_own("nd_light", local_mac)
  local local_ip = address(addresses.parseIP6Address, "local_ip", arg.local_ip, 16)
  local next_hop = address(addresses.parseIP6Address, "next_hop", arg.next_hop, 16)
  local mac = arg.remote_mac
    and address(addresses.parseMacAddress, "remote_mac", arg.remote_mac, 6)
  self.local_mac, self.local_ip, self.next_hop = local_mac, local_ip, next_hop
  self.quiet, self.remote_mac = arg.quiet, mac
  self.neighbors = cache.new{between = arg.delay / 1000, entry_capacity = 1,
    tries = arg.retrans and arg.retrans + 1}
  self._eth_header = mac and header_to(self, mac)
  self.restless = not mac
  if self.solicitation then packet.free(self.solicitation) end
  self.solicitation = nd.solicitation(local_mac, local_ip, next_hop)
  return self
end

--- nd_light{local_mac=, local_ip=, next_hop=, ...}: the README tells.
function nd_light:new(arg)
  return configure(setmetatable({}, nd_light), arg)
end

local function say(self, fmt, ...)
  if not self.quiet then print("nd_light: " .. fmt:format(...)) end
end

-- Send a solicitation when it is time to, until there is an answer.
local function solicit(self)
  local list, now = self.neighbors, engine.now()
  local entry = list:ensure(NEXT_HOP, now)
  if not list:poll(entry, now) then return end
  if list:has_failed(entry) then
    failure.raise("ND for next hop %s has failed", text(ip6_p, self.next_hop))
  end
  say(self, "Sending neighbor solicitation for next-hop %s", text(ip6_p, self.next_hop))
  transmit(self.output.south, packet.clone(self.solicitation))
end

local function refuse(self, name)
  counter.add(self.shm[name])
  counter.add(self.shm.rxerrors)
end

-- An advertisement with its MAC address at offset `at`, or nil: it isn't sound.
local function advertised(self, data, at)
  if self._eth_header then return refuse(self, "na_duplicate_errors") end
  if not nd.is_about(data, self.next_hop) or not nd.is_solicited(data) then
    return refuse(self, "na_target_address_errors")
  end
  if not at or at == nd.SOURCE_MAC then return refuse(self, "nd_protocol_errors") end
  local mac = data + at
  self._eth_header, self.restless = header_to(self, mac), false
  say(self, "Resolved next-hop %s to %s", text(ip6_p, self.next_hop),
    text(mac_p, mac))
  counter.set(self.shm.status, UP)
end

local function solicited(self, data, problem)
  if problem == nd.BAD_SUM then return refuse(self, "ns_checksum_errors") end
  if not nd.is_about(data, self.local_ip) then
    return refuse(self, "ns_target_address_errors")
  end
  if problem then return refuse(self, "nd_protocol_errors") end
  transmit(self.output.south,
    nd.advertisement(self.local_mac, self.local_ip, data, 0))
end

-- A packet of neighbour discovery, which stays the caller's.
local function listen(self, data, kind)
  local at, problem = nd.read(data, kind)
  if problem == nd.FAR then return refuse(self, "nd_protocol_errors") end
  if kind == nd.SOLICITATION then return solicited(self, data, problem) end
  return advertised(self, data, at)
end

local from_south = loops.take_or_pass(function (self, p)
  local kind = nd.kind(p.data, p.length)
  if kind == 0 then return false end
  listen(self, p.data, kind)
  packet.free(p)
  return true
end)

local function from_north(self, input, south, header, n)
  for _ = 1, n do
    local p = receive(input)
    if p.length >= ETHERNET then
      ffi.copy(p.data, header, ETHERNET)
      transmit(south, p)
    else
      counter.add(self.shm.txerrors)
      packet.free(p)
    end
  end
end

local function discard(self, input, n)
  counter.add(self.shm.txdrop, n)
  for _ = 1, n do packet.free(receive(input)) end
end

nd_light.needs_packets = true

function nd_light:push()
  local input, output = self.input, self.output
  if not self._eth_header then solicit(self) end
  if input.south then
    from_south(self, input.south, output.north, nil, nreadable(input.south))
  end
  if not input.north then return end
  if self._eth_header then
    from_north(self, input.north, output.south, self._eth_header,
      nreadable(input.north))
  else
    discard(self, input.north, nreadable(input.north))
  end
end

--- What has been found of the same next hop stays.
function nd_light:reconfig(arg)
  local found = self._eth_header and not self.remote_mac
  local known = found and ffi.string(self._eth_header, 6)
  local next_hop = ffi.string(self.next_hop, 16)
  configure(self, arg)
  if known and not arg.remote_mac and next_hop == ffi.string(self.next_hop, 16) then
    self._eth_header, self.restless = header_to(self, known), false
  else
    counter.set(self.shm.status, DOWN)
  end
end

function nd_light:stop()
  packet.free(self.solicitation)
  self.solicitation = nil
end

return {nd_light = nd_light}

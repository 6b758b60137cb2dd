-- SPDX-License-Identifier: Apache-2.0
-- ICMPEcho, of either family: answers pings (net.icmp.echo) to its addresses, between a
-- port in the south and whatever else is in the north.

local ffi = require("ffi")
local arguments = require("core.lib.arguments")
local counter = require("core.counter")
local loops = require("net.ip.loops")
local transmit = require("core.link").transmit

local TTL = 64

local function answer(self, p, south)
  local shm, at = self.shm, self.request(p.data, p.length)
  if at == 0 or not self.addresses[ffi.string(p.data + self.TO, self.SIZE)] then
    return false
  end
  self.turn(p.data, at, TTL)
  counter.add(shm[self.IN .. "-bytes"], p.length)
  counter.add(shm[self.IN .. "-packets"])
  counter.add(shm[self.OUT .. "-bytes"], p.length)
  counter.add(shm[self.OUT .. "-packets"])
  transmit(south, p)
  return true
end

--- The app's class for an ICMP with counters of that name ("icmpv4"), whose requests
--- request() finds and turn() answers, and whose destination's address is `size` bytes
--- at offset `to` of a frame. Its argument is {address=, addresses=}: an address
--- (bytes), a list of them.
return function (name, request, turn, to, size)
  local ICMPEcho = {
    argument = "table", needs_packets = true, shm = {}, push = loops.from_south(answer),
    request = request, turn = turn, TO = to, SIZE = size,
    IN = "in-" .. name .. "-echo", OUT = "out-" .. name .. "-echo",
  }
  ICMPEcho.__index = ICMPEcho
  ICMPEcho.reconfig_keeps = {}
  for _, way in ipairs{ICMPEcho.IN, ICMPEcho.OUT} do
    ICMPEcho.shm[way .. "-bytes"] = {counter}
    ICMPEcho.shm[way .. "-packets"] = {counter}
  end

  function ICMPEcho:new(arg)
    local addresses = {}
    local function add(address)
      arguments.check("ICMPEcho: an address", size == 4 and "ip4" or "ip6", address)
      addresses[ffi.string(address, size)] = true
    end
    if arg.address then add(arg.address) end
    arguments.check("ICMPEcho: addresses", "table?", arg.addresses)
    for _, address in ipairs(arg.addresses or {}) do add(address) end
    return setmetatable({addresses = addresses}, ICMPEcho)
  end

  return ICMPEcho
end

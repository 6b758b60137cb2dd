-- SPDX-License-Identifier: Apache-2.0
-- Flood: copies frames to every remote of their VNI (head-end replication). They come
-- from Ingress with the VNI in hash[0] and its number in the upper half of hash[1], and
-- leave for Encap with the number of a remote in the lower.

local bit = require("bit")
local counter = require("core.counter")
local link = require("core.link")
local packet = require("core.packet")

local Flood = {}
Flood.__index = Flood

local NUMBER = 16 -- bits below that of the VNI
local band, bor, rshift = bit.band, bit.bor, bit.rshift

Flood.link_names = {input = {input = true}, output = {output = true}}

--- Make the app for a tunnel (apps.vtep.tunnel).
function Flood:new(tunnel)
  return setmetatable({
    flood = tunnel.flood, remotes = tunnel.remotes.array,
    shm = {flooded = {counter}, copies = {counter}, no_remote = {counter}},
  }, self)
end

local function send(output, p, index, n, remotes)
  local counts = remotes[n].counts
  counts.flooded = counts.flooded + 1
  counts.flooded_bytes = counts.flooded_bytes + p.length
  p.hash[1] = bor(index, n)
  link.transmit(output, p)
end

local function copy_to(output, p, list, remotes)
  local index = band(p.hash[1], 0xffff0000)
  for i = 1, list.n - 1 do
    local copy = packet.clone(p)
    copy.hash[0] = p.hash[0]
    send(output, copy, index, list.remote[i], remotes)
  end
  send(output, p, index, list.remote[0], remotes)
end

local function flood(self, input, output, n)
  local lists, remotes, shm = self.flood, self.remotes, self.shm
  for _ = 1, n do
    local p = link.receive(input)
    local list = lists[rshift(p.hash[1], NUMBER)]
    if not list or list.n == 0 then
      counter.add(shm.no_remote)
      packet.free(p)
    else
      counter.add(shm.flooded)
      counter.add(shm.copies, list.n)
      copy_to(output, p, list, remotes)
    end
  end
end

Flood.needs_packets = true

function Flood:push()
  local input = self.input.input
  flood(self, input, self.output.output, link.nreadable(input))
end

return {Flood = Flood}

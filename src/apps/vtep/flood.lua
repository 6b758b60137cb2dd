-- SPDX-License-Identifier: Apache-2.0
-- Flood: copies frames to every remote of their VNI (head-end replication). They come
-- from Ingress with the VNI in hash[0] and its number in hash[1], and leave for Encap
-- with the number of a remote there.

local counter = require("core.counter")
local link = require("core.link")
local packet = require("core.packet")

local Flood = {}
Flood.__index = Flood

Flood.link_names = {input = {input = true}, output = {output = true}}

--- Make the app for a tunnel (apps.vtep.tunnel).
function Flood:new(tunnel)
  return setmetatable({
    flood = tunnel.flood,
    shm = {flooded = {counter}, copies = {counter}, no_remote = {counter}},
  }, self)
end

local function copy_to(output, p, list)
  for i = 1, list.n - 1 do
    local copy = packet.clone(p)
    copy.hash[0], copy.hash[1] = p.hash[0], list.remote[i]
    link.transmit(output, copy)
  end
  p.hash[1] = list.remote[0]
  link.transmit(output, p)
end

local function flood(self, input, output, n)
  local lists, shm = self.flood, self.shm
  for _ = 1, n do
    local p = link.receive(input)
    local list = lists[p.hash[1]]
    if not list or list.n == 0 then
      counter.add(shm.no_remote)
      packet.free(p)
    else
      counter.add(shm.flooded)
      counter.add(shm.copies, list.n)
      copy_to(output, p, list)
    end
  end
end

function Flood:push()
  local input = self.input.input
  flood(self, input, self.output.output, link.nreadable(input))
end

return {Flood = Flood}

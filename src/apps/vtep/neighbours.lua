-- SPDX-License-Identifier: Apache-2.0
-- Which Ethernet addresses the next hops have: asks for those that aren't known, and
-- again now and then, and forgets those that don't answer any more.

local Neighbours = {}
Neighbours.__index = Neighbours

local ASK_S = 1 -- between requests
local REACHABLE_S = 30 -- an answer is good for so long (RFC 4861, section 10)
local TRIES = 3

--- For the remotes (apps.vtep.remotes); ask(hop) asks for an address (bytes).
function Neighbours.new(remotes, ask)
  return setmetatable({remotes = remotes, ask = ask, of = {}, lost = 0}, Neighbours)
end

--- A neighbour has said which Ethernet address it has: `address` and `mac` in bytes,
--- `now` in seconds.
function Neighbours:heard(address, mac, now)
  if not self.remotes.waiting[address] then return end
  local entry = self.of[address] or {}
  self.of[address] = entry
  entry.confirmed, entry.tries = now, 0
  entry.mac = mac
  self.remotes:resolved(address, mac)
end

local function ask(self, hop, entry, now)
  if entry.mac and entry.tries >= TRIES then
    entry.mac, entry.tries = nil, 0
    self.lost = self.lost + 1
    self.remotes:resolved(hop, nil)
  end
  entry.asked, entry.tries = now, entry.tries + 1
  self.ask(hop)
end

--- Ask for what it is time to ask for at `now` (seconds).
function Neighbours:refresh(now)
  for hop in pairs(self.of) do
    if not self.remotes.waiting[hop] then self.of[hop] = nil end
  end
  for hop in pairs(self.remotes.waiting) do
    local entry = self.of[hop]
    if not entry then
      entry = {tries = 0, asked = -math.huge}
      self.of[hop] = entry
    elseif entry.mac then
      self.remotes:resolved(hop, entry.mac) -- for remotes that are new
    end
    local stale = not entry.mac or now - entry.confirmed >= REACHABLE_S
    if stale and now - entry.asked >= ASK_S then ask(self, hop, entry, now) end
  end
end

return Neighbours

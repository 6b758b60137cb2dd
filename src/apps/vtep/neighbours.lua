-- SPDX-License-Identifier: Apache-2.0
-- Which Ethernet addresses the next hops have: asks for those that aren't known, and
-- again now and then, and forgets those that don't answer any more.

local cache = require("net.neighbor.cache")

local Neighbours = {}
Neighbours.__index = Neighbours

-- Seconds: between requests, and for how long an answer is good (RFC 4861, section 10).
local TIMES = {between = 1, reachable = 30, tries = 3}

--- For the remotes (apps.vtep.remotes); ask(hop) asks for an address (bytes).
function Neighbours.new(remotes, ask)
  return setmetatable({remotes = remotes, ask = ask, cache = cache.new(TIMES),
    lost = 0}, Neighbours)
end

--- A neighbour has said which Ethernet address it has: `address` and `mac` in bytes,
--- `now` in seconds.
function Neighbours:heard(address, mac, now)
  if not self.remotes.waiting[address] then return end
  self.cache:insert(address, mac, now)
  self.remotes:resolved(address, mac)
end

--- Ask for what it is time to ask for at `now` (seconds).
function Neighbours:refresh(now)
  local list, waiting = self.cache, self.remotes.waiting
  for e in list:each() do
    if not waiting[e.ip] then list:remove(e) end
  end
  for hop in pairs(waiting) do
    local e = list:ensure(hop, now)
    local had = e.mac
    if list:tend(e, now, self.ask) and had then self.lost = self.lost + 1 end
    if had then self.remotes:resolved(hop, e.mac) end -- for new remotes, too
  end
end

return Neighbours

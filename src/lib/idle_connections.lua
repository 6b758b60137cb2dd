-- SPDX-License-Identifier: Apache-2.0
-- Which of a server's connections (lib.sockets) makes room for a new one: those whose
-- clients haven't asked for anything keep nobody out.

local idle = {}

local MOST = 64            -- connections
local MOST_OF_ADDRESS = 32 -- before idle ones make room

-- How many connections there are, and how many each address has.
local function counts(server)
  local all, of = 0, {}
  for fd in pairs(server.connections) do
    local address = server.addresses[fd]
    all, of[address] = all + 1, (of[address] or 0) + 1
  end
  return all, of
end

-- The idle connection that is the first to go: the oldest of the address that has most;
-- only those of `address`, if given.
local function first(server, of, address)
  local found
  for fd, session in pairs(server.connections) do
    local from = server.addresses[fd]
    if (address or from) == from and session.is_idle and session:is_idle() then
      local more = found and of[from] - of[server.addresses[found]]
      if not found or more > 0
          or more == 0 and server.came[fd] < server.came[found] then
        found = fd
      end
    end
  end
  return found
end

--- Can there be one more connection, if an idle one is closed for it?
function idle.has_room(server)
  local all, of = counts(server)
  return all < MOST or first(server, of) ~= nil
end

--- The connection to be closed for one more from the address; nil if none need be.
function idle.in_the_way(server, address)
  local all, of = counts(server)
  local full = all >= MOST
  if not full and (of[address] or 0) < MOST_OF_ADDRESS then return nil end
  return first(server, of, not full and address or nil)
end

return idle

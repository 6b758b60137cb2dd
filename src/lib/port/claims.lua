-- SPDX-License-Identifier: Apache-2.0
-- Which things of the machine the open ports of this process use, so that no two ports
-- take the same one. A thing is a path of names; it collides with the things below it:
-- "interface/veth0" with "interface/veth0/queue 1".

local collide = require("core.engine.plan").collide

local M = {}

local thing_of = {
  packet = function(port) return "interface/" .. port.iface end,
  xdp = function(port)
    return ("interface/%s/queue %d"):format(port.iface, port.queue)
  end,
  tap = function(port) return "tap/" .. port.name end,
  pcap = function(port) return port.tx and "file " .. port.tx end,
  memif = function(port)
    return ("memif %s %s %.0f"):format(port.role, port.socket, port.id)
  end,
  vhost = function(port) return "vhost " .. port.socket end,
  ["virtio-user"] = function(port) return "virtio-user " .. port.socket end,
  pci = function(port) return "pci " .. port.address end,
  number = function(port) return "port " .. port.number end,
}

--- What of the machine the parsed `port` takes for itself ("interface/veth0"), or
--- nil for a kind that any number of apps may open.
function M.thing(port)
  local of = thing_of[port.kind]
  local name = of and of(port) or nil
  return name and port.queues and ("%s/queue %d"):format(name, port.queue) or name
end
local thing = M.thing

local claims = {}

--- Note that the parsed `port` is open, until `release` with the same table.
function M.claim(port)
  claims[port] = true
end

--- Note that the parsed `port` is closed.
function M.release(port)
  claims[port] = nil
end

--- The open port that uses something `port` needs, or nil. Those in `leaving` (an
--- array of parsed ports, optional) don't count: they'll be closed first.
function M.user(port, leaving)
  local wanted = thing(port)
  if not wanted then return nil end
  local ignored = {}
  for _, other in ipairs(leaving or {}) do ignored[other] = true end
  for other in pairs(claims) do
    local used = thing(other)
    if used and not ignored[other] and collide(wanted, used) then return other end
  end
end

--- Does an open port of this process serve the Unix socket `path`?
function M.serves(path)
  for other in pairs(claims) do
    if other.socket == path then return true end
  end
  return false
end

return M

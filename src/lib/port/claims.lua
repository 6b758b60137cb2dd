-- SPDX-License-Identifier: Apache-2.0
-- Which things of the machine the open ports of this process use, so that no two ports
-- take the same one. A thing is a path of names; it collides with the things below it:
-- "interface/veth0" with "interface/veth0/queue 1".

local collide = require("core.engine.plan").collide
local kinds = require("lib.port.kinds")
local opened = require("lib.port.opened")

local M = {}

--- What of the machine the parsed `port` takes for itself ("interface/veth0"), or
--- nil for a kind that any number of apps may open.
function M.thing(port)
  local of = kinds.of(port).thing
  local name = of and of(port) or nil
  local number = port.split and port.split.number or port.share and port.share.copy
  return name and number and ("%s/queue %d"):format(name, number) or name
end
local thing = M.thing

--- The open port that uses something `port` needs, or nil. Those in `leaving` (an
--- array of parsed ports, optional) don't count: they'll be closed first.
function M.user(port, leaving)
  local wanted = thing(port)
  if not wanted then return nil end
  local ignored = {}
  for _, other in ipairs(leaving or {}) do ignored[other] = true end
  for other in opened.each() do
    local used = thing(other)
    if used and not ignored[other] and collide(wanted, used) then return other end
  end
end

return M

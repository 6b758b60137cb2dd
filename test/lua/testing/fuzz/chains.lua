-- SPDX-License-Identifier: Apache-2.0
-- Random stacks: from Ethernet up, each header one that the registry says may follow
-- the one below, with random subtypes, optional fields and sizes.

local registry = require("lib.stack.registry")
local stack = require("lib.stack")

local chains = {}

local MOST_HEADERS = 9
local TOLD_BY_FUNCTIONS = {l2tpv3 = {"eth"}, gtpu = {"ip4", "ip6"}, lldp = {"lldp"},
  igmp = {"igmp3query"}, mld = {"mld2query"}, mld2report = {"mld2record"}}

local function random_item(random, name, number)
  local protocol = registry.find(name)
  local item = {name, name = "h" .. number}
  if random:one_in(3) and #protocol.subtypes > 0 then
    item.subType = random:choose(protocol.subtypes)
  end
  if #protocol.flags > 0 then
    item.with = {}
    for _, flag in ipairs(protocol.flags) do
      if random:one_in(2) then item.with[#item.with + 1] = flag end
    end
  end
  local variable = protocol.default.variable
  if variable and not variable.size and random:one_in(2) then
    item.length = random:range(0, 12) * random:choose{1, 2, 4, 8}
  end
  return item
end

-- A tag behind an Ethernet header makes that another subtype, so none is put there.
local function follower(random, name, item)
  local next = registry.find(name):layout(item.subType).next
  if type(next) == "string" then return next end
  if item.subType == "report3" then return "igmp3record" end
  if not next then return nil end
  if type(next) == "function" then return random:choose(TOLD_BY_FUNCTIONS[name]) end
  local list = registry.followers(next.as or name)
  if #list == 0 then return nil end
  local found = random:choose(list)[2]
  if name == "eth" and found == "vlan" and item.subType ~= "qinq" then return "ip4" end
  return found
end

--- Arguments for createStack.
function chains.random(random)
  local arguments = {}
  local name, most = "eth", random:range(1, MOST_HEADERS)
  while name and #arguments < most do
    local item = random_item(random, name, #arguments + 1)
    arguments[#arguments + 1] = item
    -- Not every length is one that this header can have.
    if not pcall(stack.createStack, unpack(arguments)) then item.length = nil end
    local items = stack.createStack(unpack(arguments)).shape.items
    name = follower(random, items[#items].protocol.name, item) -- icmp may be icmp6
  end
  return arguments
end

return chains

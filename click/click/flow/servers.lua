-- SPDX-License-Identifier: Apache-2.0
-- Servers that flows of a former process go on with (click.flow.kept), for elements
-- that balance loads (click.flow.balancer).

local wire = require("click.net.wire")

local servers = {}

--- Why the flow of a server that there isn't any more doesn't go on.
servers.GONE = "of a server that is gone"

--- The servers, by number.
function servers.kept_notes(self)
  local list = {}
  for i = 0, self.servers - 1 do
    local a = self.addresses[i]
    list[i + 1] = type(a) == "number" and ("%d"):format(a) or wire.eth_text(a)
  end
  return table.concat(list, " ")
end

--- The number that a server of a former process has now, or nil.
function servers.former(self, number, notes)
  if rawget(self, "former_notes") ~= notes then
    self.former_notes, self.former_servers = notes, {}
    local now, i = {}, 0
    for text in self:kept_notes():gmatch("%S+") do
      now[text] = now[text] or i
      i = i + 1
    end
    i = 0
    for text in notes:gmatch("%S+") do
      self.former_servers[i], i = now[text], i + 1
    end
  end
  return self.former_servers[number]
end

--- The connection of a kept flow counts.
function servers.go_on(self, server, area)
  local load = self.loads[server]
  load.connections = load.connections + area.open
end

--- The same of areas with the number of a server, from 1 on, and 0 for none.
function servers.flow_kept(self, area, notes)
  if area.server == 0 then return end
  local server = servers.former(self, area.server - 1, notes)
  if not server then return servers.GONE end
  area.server, area.open = server + 1, math.min(area.open, 1)
end

function servers.flow_goes_on(self, area)
  if area.server > 0 then servers.go_on(self, area.server - 1, area) end
end

return servers

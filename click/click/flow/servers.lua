-- SPDX-License-Identifier: Apache-2.0
-- Servers that flows of a former process go on with (click.flow.kept), for elements
-- that balance loads (click.flow.balancer).

local C = require("click.flow.areas")
local ffi = require("ffi")
local wire = require("click.net.wire")

local servers = {}

--- What a flow's record has: the server's number from 1 on, or 0, and whether its
--- connection counts.
servers.area = ffi.typeof("struct click_server_area")

--- The servers, by number.
function servers.kept_notes(self)
  local list = {}
  for i = 0, self.servers - 1 do
    local a = self.addresses[i]
    list[i + 1] = type(a) == "number" and ("%d"):format(a) or wire.eth_text(a)
  end
  return table.concat(list, " ")
end

--- For click.flow.kept: the area of an element whose flows have the number of a server.
--- `notes`: kept_notes() of the former process.
function servers.kept_area(self, a, notes)
  local now, list, i = {}, {}, 1
  for text in self:kept_notes():gmatch("%S+") do
    now[text], i = now[text] or i, i + 1
  end
  for text in notes:gmatch("%S+") do list[#list + 1] = now[text] or 0 end
  local by_number = ffi.new("uint32_t[?]", #list + 1, list)
  self.former_servers = {by_number, rawget(self, "former_servers")} -- C needs them
  a.kind, a.server, a.servers, a.load = C.AREA_SERVER, by_number, #list, self.loads
end

--- All of these flows that go on are there.
function servers.kept_done(self) self.former_servers = nil end

return servers

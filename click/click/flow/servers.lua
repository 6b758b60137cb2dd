-- SPDX-License-Identifier: Apache-2.0
-- Elements that balance loads (click.flow.balancer) by flow: each flow keeps its
-- server, also in another copy, and in a process that goes on (click.flow.kept).

local balancer = require("click.flow.balancer")
local C = require("click.flow.areas")
local ffi = require("ffi")
local state = require("click.flow.state")
local wire = require("click.net.wire")

local servers = {}

-- The servers, by number.
local function kept_notes(self)
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

-- All of these flows that go on are there.
local function kept_done(self) self.former_servers = nil end

local function initialize(self)
  self.area_of = state.of(self)
  balancer.start(self)
end

-- A flow has ended, or goes to another copy.
local function leave(self, area)
  if area.server > 0 then balancer.leave(self, area.server - 1, area) end
end

-- A flow of another copy is here from now on.
local function arrive(self, area)
  if area.server > 0 then balancer.arrive(self, area.server - 1, area) end
end

-- What a flow's record has: the server's number from 1 on, or 0, and whether its
-- connection counts.
local AREA = ffi.typeof("struct click_server_area")

--- Make the class one of these. Its make_process() finds a flow's area by
--- self.area_of, and writes its server there.
function servers.attach(class)
  class.flow_state, class.flow_moves, class.initialize = AREA, true, initialize
  class.flow_ended, class.flow_left, class.flow_came = leave, leave, arrive
  class.kept_notes, class.kept_area, class.kept_done =
    kept_notes, servers.kept_area, kept_done
  return class
end

return servers

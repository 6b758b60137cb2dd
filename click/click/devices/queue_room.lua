-- SPDX-License-Identifier: Apache-2.0
-- How many packets of files may come in one breath, so that what pulls from queues
-- between two breaths can keep up: Click reads them one by one, and loses none in a
-- small queue.

local C = require("core.native")

local queue_room = {}

local LEAST = 4 -- packets that a port receives at once

-- Receivers of all devices, which may bring packets in the same breath.
local function receivers(router)
  local n = 0
  for _, device in pairs(router.devices.by_text) do n = n + #device.receivers end
  return math.max(1, n)
end

--- So many packets each receiver may have at once, by the smallest queue of the router;
--- nil: as many as there are.
function queue_room.burst(router)
  local smallest = math.huge
  for _, e in ipairs(router.elements) do
    local room = e.head and e.tail and e.capacity or math.huge
    smallest = math.min(smallest, room)
  end
  local share = math.floor(smallest / receivers(router))
  return share < C.PORT_BURST and math.max(LEAST, share) or nil
end

return queue_room

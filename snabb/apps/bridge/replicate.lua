-- SPDX-License-Identifier: Apache-2.0
-- Sends packets to several links: copies to all but the last, which gets them.

local C = require("core.native")
local link = require("core.link")
local packet = require("core.packet")
local pool = require("core.pool")

local clone, free, transmit = packet.clone, packet.free, link.transmit

local function send_copies(packets, n, output)
  for i = 0, n - 1 do transmit(output, clone(packets[i])) end
end

local function free_all(packets, n)
  for i = 0, n - 1 do free(packets[i]) end
end

--- Send the `n` packets (struct packet *[]) to the links of the `ports` (tables with
--- l_out) with the numbers `to`, those that are linked; free them if none is.
return function (packets, n, ports, to)
  local last
  for i = 1, #to do
    local output = ports[to[i]].l_out
    if output then
      if last then send_copies(packets, n, last) end
      last = output
    end
  end
  if last then
    C.pg_give(pool.freelist, last, packets, n)
  else
    free_all(packets, n)
  end
end

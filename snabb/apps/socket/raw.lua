-- SPDX-License-Identifier: Apache-2.0
-- Snabb's RawSocket: the Port app on a kernel interface, by AF_PACKET.

local alias = require("apps.port.port").alias
local failure = require("core.failure")

local M = {}

--- RawSocket:new(ifname)
M.RawSocket = alias {
  name = "RawSocket",
  port = function(ifname)
    if type(ifname) ~= "string" then
      failure.usage("RawSocket's argument is an interface's name, not a %s",
        type(ifname))
    end
    return "packet:" .. ifname
  end,
}

return M

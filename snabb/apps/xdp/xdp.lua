-- SPDX-License-Identifier: Apache-2.0
-- Snabb's XDP app: the Port app on a queue of a kernel interface, by AF_XDP.

local alias = require("apps.port.port").alias
local failure = require("core.failure")

local M = {}

--- XDP:new {ifname=, queue=}
M.XDP = alias {
  name = "XDP",
  config = {
    ifname = {required = true},
    filter = {},
    queue = {default = 0},
  },
  port = function(conf)
    if conf.filter then
      failure.usage("XDP on %s: 'filter' isn't there: a port takes every packet of its"
        .. " queue; leave the filter out, and put apps.packet_filter behind the port",
        conf.ifname)
    end
    return ("xdp:%s,queue=%s"):format(conf.ifname, tostring(conf.queue))
  end,
}

--- The class under the name by which programs choose among driver modules.
M.driver = M.XDP

--- Snabb needs this before packets are allocated; packets are fit for AF_XDP and for
--- cards alike here, so nothing is done. `options` is ignored.
function M.snabb_enable_xdp() end

return M

-- SPDX-License-Identifier: Apache-2.0
-- Snabb's VhostUser: the Port app as the host's end of a virtual machine's card.

local alias = require("apps.port.port").alias
local refuse = require("lib.refuse")

local M = {}

local OF_GUEST = "switch it off in the virtual machine's device (QEMU's option %s=off)"
local REFUSED = {disable_mrg_rxbuf = OF_GUEST:format("mrg_rxbuf"),
  disable_indirect_desc = OF_GUEST:format("indirect_desc")}

--- VhostUser:new {socket_path=, is_server=, queues=}
M.VhostUser = alias {
  name = "VhostUser",
  needs = "socket_path",
  port = function(conf)
    refuse("VhostUser", conf.socket_path, conf, REFUSED)
    return ("vhost:%s,client=%d,queues=%d"):format(conf.socket_path,
      conf.is_server and 0 or 1, conf.queues or 1)
  end,
}

return M

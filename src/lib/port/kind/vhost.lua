-- SPDX-License-Identifier: Apache-2.0
-- vhost: the host's end of a vhost-user socket.

local C = require("core.native")
local arguments = require("lib.port.arguments")
local needs = require("lib.port.needs")

return {
  name = "vhost", order = 8,
  summary = "the host's end of a virtual machine's network card (vhost-user)",
  positional = true,
  args = {
    {name = "socket", type = arguments.socket, show = "PATH",
      help = "the vhost-user socket"},
    {name = "client", type = arguments.flag, default = 0, show = "1",
      help = "1: connect to the socket; 0: make it"},
  },
  driver = "net_vhost",
  devargs = function (port)
    return {"iface=" .. port.socket, "queues=1", "client=" .. port.client,
      "linear-buffer=1"}
  end,
  thing = function (port) return "vhost " .. port.socket end,
  check = function (port, roots)
    needs.socket(port, port.client == 0, false, roots)
  end,
  before_open = function (port)
    if port.client == 0 then needs.free_socket(port) end
  end,
  tidy = true,
  lingers = true,
  tend = C.pg_guest_tend,
  bench = {order = 5, receive = "vhost:%s/vhost", send = "virtio-user:%s/vhost",
    round = 192, most = 128},
}

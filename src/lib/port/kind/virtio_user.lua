-- SPDX-License-Identifier: Apache-2.0
-- virtio-user: the guest's end of a vhost-user socket.

local arguments = require("lib.port.arguments")
local needs = require("lib.port.needs")

return {
  name = "virtio-user", order = 9,
  summary = "the guest's end of a vhost-user socket",
  positional = true,
  args = {
    {name = "socket", type = arguments.socket, show = "PATH",
      help = "the vhost-user socket"},
    {name = "server", type = arguments.flag, default = 0, show = "1",
      help = "1: make the socket; 0: connect to it"},
    arguments.offload,
  },
  driver = "net_virtio_user",
  devargs = function (port)
    return {"path=" .. port.socket, "queues=1", "server=" .. port.server}
  end,
  thing = function (port) return "virtio-user " .. port.socket end,
  check = function (port, roots)
    needs.socket(port, port.server == 1, port.server == 0, roots)
  end,
  before_open = function (port)
    if port.server == 1 then needs.free_socket(port) end
  end,
  tidy = true,
  lingers = true,
  measured_as = "vhost", -- its other end
}

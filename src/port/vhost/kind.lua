-- SPDX-License-Identifier: Apache-2.0
-- vhost: the host's end of a vhost-user socket.

local arguments = require("lib.port.arguments")
local driver = require("lib.port.driver")
local needs = require("lib.port.needs")

local C = require("core.declare")("port/vhost/vhost.h")

local MOST_QUEUES = 64

return {
  name = "vhost", order = 9,
  summary = "the host's end of a virtual machine's network card (vhost-user)",
  positional = true,
  args = {
    arguments.at("socket", arguments.socket, "PATH", "the vhost-user socket"),
    {name = "client", type = arguments.flag, default = 0, show = "1",
      help = "1: connect to the socket; 0: make it"},
    {name = "queues", type = arguments.integer(1, 16), default = 1, show = "N",
      help = "pairs of queues that the virtual machine may use"},
  },
  driver = "net_vhost",
  full_bursts = true,
  -- Where one of several queues is full, those that it doesn't take aren't the last.
  takes_shared = function (port) return port.queues == 1 and not port.split end,
  devargs = function (port)
    local workers = port.split and port.split.of or 1
    return {"iface=" .. port.socket, "queues=" .. math.max(port.queues, workers),
      "client=" .. port.client, "linear-buffer=1"}
  end,
  thing = function (port) return "vhost " .. port.socket end,
  check = function (port, roots)
    needs.socket(port, port.client == 0, false, roots)
  end,
  before_open = function (port)
    if port.client == 0 then needs.free_socket(port) end
  end,
  has_queues = true, -- the virtual machine spreads flows over them
  lingers = true,
  tend = C.pg_guest_tend,
  -- The eventfds that the virtual machine kicks.
  wake_fds = driver.eventfds(MOST_QUEUES, C.pg_guest_descriptors),
  notify = C.pg_guest_notify,
  bench = {order = 5, receive = "vhost:%s/vhost", send = "virtio-user:%s/vhost",
    round = 192, most = 128},
}

-- SPDX-License-Identifier: Apache-2.0
-- virtio-user: the guest's end of a vhost-user socket, with a device of DPDK's for each
-- peer (virtio_user.c).

local arguments = require("lib.port.arguments")
local driver = require("lib.port.driver")
local needs = require("lib.port.needs")
local pool = require("core.pool")

local C = require("core.declare")("port/virtio_user/virtio_user.h")

local MOST_DESCRIPTORS = 2

return {
  name = "virtio-user", order = 10,
  summary = "the guest's end of a vhost-user socket",
  positional = true,
  args = {
    arguments.at("socket", arguments.socket, "PATH", "the vhost-user socket"),
    {name = "server", type = arguments.flag, default = 0, show = "1",
      help = "1: make the socket; 0: connect to it"},
    arguments.offload, arguments.wait,
  },
  thing = function (port) return "virtio-user " .. port.socket end,
  check = function (port, roots)
    needs.socket(port, port.server == 1, port.server == 0 and port.wait == 0, roots)
  end,
  open = function (device_port, port)
    if port.server == 1 then needs.free_socket(port) end
    local packets = pool.near(-1)
    pool.fill_up(packets)
    driver.check(port, C.pg_virtio_user_open(device_port, port.socket,
      port.server == 1, port.offload == 1, port.wait == 1, packets))
  end,
  full_bursts = true,
  lingers = true,
  -- The eventfd that the peer rings, and one that tells of another peer.
  wake_fds = driver.eventfds(MOST_DESCRIPTORS, function (device_port, fds)
    return C.pg_virtio_user_descriptors(device_port, fds)
  end),
  notify = C.pg_virtio_user_notify,
  measured_as = "vhost", -- its other end
}

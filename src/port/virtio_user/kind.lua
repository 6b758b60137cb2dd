-- SPDX-License-Identifier: Apache-2.0
-- virtio-user: the guest's end of a vhost-user socket, with a device of DPDK's for each
-- peer (virtio_user.c).

local ffi = require("ffi")
local arguments = require("lib.port.arguments")
local failure = require("core.failure")
local needs = require("lib.port.needs")
local pool = require("core.pool")

local C = require("core.declare")("port/virtio_user/virtio_user.h")

local descriptors = ffi.new("int32_t[2]")

return {
  name = "virtio-user", order = 10,
  summary = "the guest's end of a vhost-user socket",
  positional = true,
  args = {
    {name = "socket", type = arguments.socket, show = "PATH",
      help = "the vhost-user socket"},
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
    if C.pg_virtio_user_open(device_port, port.socket, port.server == 1,
                             port.offload == 1, port.wait == 1, packets) < 0 then
      failure.raise("port '%s': %s", port.text, ffi.string(C.pg_error()))
    end
  end,
  full_bursts = true,
  lingers = true,
  -- The eventfd that the peer rings, and one that tells of another peer.
  wake_fds = function (device_port)
    local list = {counts = true}
    for i = 1, C.pg_virtio_user_descriptors(device_port, descriptors) do
      list[i] = descriptors[i - 1]
    end
    return list
  end,
  notify = C.pg_virtio_user_notify,
  measured_as = "vhost", -- its other end
}

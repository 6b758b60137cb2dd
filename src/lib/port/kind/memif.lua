-- SPDX-License-Identifier: Apache-2.0
-- memif: shared memory with another process.

local arguments = require("lib.port.arguments")
local needs = require("lib.port.needs")

return {
  name = "memif", order = 7,
  summary = "shared memory with another process (DPDK, VPP, libmemif)",
  positional = true,
  args = {
    {name = "socket", type = arguments.socket, show = "PATH",
      help = "the control socket"},
    {name = "role", type = arguments.choice {"server", "client"},
      default = "client", show = "server",
      help = "server: make the socket; client: connect to it"},
    {name = "id", type = arguments.integer(0, 4294967295), default = 0, show = "N",
      help = "number of the interface, the same at both ends"},
  },
  driver = "net_memif",
  devargs = function (port)
    return {"role=" .. port.role, ("id=%.0f"):format(port.id),
      "socket=" .. port.socket, "socket-abstract=no"}
  end,
  thing = function (port)
    return ("memif %s %s %.0f"):format(port.role, port.socket, port.id)
  end,
  check = function (port, roots)
    needs.socket(port, port.role == "server", false, roots)
  end,
  before_open = function (port)
    if port.role == "server" then needs.free_socket(port) end
  end,
  not_started = function (port, reason)
    return port.role == "client" and ("nobody answers at '%s'; start the process that "
      .. "serves it first (%s)"):format(port.socket, reason)
  end,
  tidy = true,
  lingers = true,
  bench = {order = 4, receive = "memif:%s/memif,role=server", send = "memif:%s/memif",
    round = 512},
}

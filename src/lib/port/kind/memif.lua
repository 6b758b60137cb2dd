-- SPDX-License-Identifier: Apache-2.0
-- memif: shared memory with another process.

local arguments = require("lib.port.arguments")
local needs = require("lib.port.needs")
local unistd = require("posix.unistd")

-- DPDK doesn't find the directory of a path that begins in the working directory (seen
-- in 22.11.11).
local function absolute(path)
  return path:sub(1, 1) == "/" and path or unistd.getcwd() .. "/" .. path
end

return {
  name = "memif", order = 8,
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
  takes_shared = true,
  devargs = function (port)
    return {"role=" .. port.role, ("id=%.0f"):format(port.id),
      "socket=" .. absolute(port.socket), "socket-abstract=no"}
  end,
  thing = function (port)
    return ("memif %s %s %.0f"):format(port.role, port.socket, port.id)
  end,
  check = function (port, roots)
    if not arguments.socket.read(absolute(port.socket)) then
      needs.refuse(port, "DPDK takes the path of its socket as '%s', which may have up "
        .. "to 107 bytes without ',', '=' or '['; choose another directory",
        absolute(port.socket))
    end
    needs.socket(port, port.role == "server", false, roots)
  end,
  before_open = function (port)
    if port.role == "server" then needs.free_socket(port) end
  end,
  not_started = function (port, reason)
    return port.role == "client" and ("nobody answers at '%s'; start the process that "
      .. "serves it first (%s)"):format(port.socket, reason)
  end,
  full_bursts = true,
  tidy = true,
  lingers = true,
  bench = {order = 4, receive = "memif:%s/memif,role=server", send = "memif:%s/memif",
    round = 512},
}

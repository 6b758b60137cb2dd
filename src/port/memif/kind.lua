-- SPDX-License-Identifier: Apache-2.0
-- memif: shared memory with another process, by our own driver (memif.c).

local ffi = require("ffi")
local arguments = require("lib.port.arguments")
local driver = require("lib.port.driver")
local files = require("core.lib.files")
local needs = require("lib.port.needs")

local C = require("core.declare")("port/memif/memif.h")

local MOST_DESCRIPTORS = 17 -- a ring each, and one that tells of another peer
local MOST_SECRET = 24 -- bytes, in memif's messages

-- The first line of the file that the port names; nil for none.
local function secret_of(port)
  if port.secret_file == "" then return nil end
  local file, problem = io.open(port.secret_file, "rb")
  local line, long = nil, nil
  if file then line, long = files.line(file) end
  if file then file:close() end
  if not line or #line < 1 or #line > MOST_SECRET or line:find("%z") then
    local found = not file and problem or not line and (long or "it is empty")
      or ("it has %d"):format(#line)
    needs.refuse(port, "the secret, the first line of '%s', must be of 1 to %d bytes "
      .. "(%s)", port.secret_file, MOST_SECRET, found)
  end
  return line
end

local function options_of(port)
  local o = ffi.new("struct memif_options", {
    path = port.socket, serves = port.role == "server", id = port.id,
    queues = math.max(port.queues, port.split and port.split.of or 1),
    log2 = math.ceil(math.log(port.ring) / math.log(2) - 1e-9), buffer = port.buffer})
  local secret = secret_of(port)
  if secret then ffi.copy(o.secret, secret, #secret) end
  return o
end

-- Has a process that this one takes over from passed it?
local function is_passed(port)
  return C.pg_memif_is_passed(port.socket, port.role == "server")
end

return {
  name = "memif", order = 8,
  summary = "shared memory with another process (DPDK, VPP, libmemif)",
  positional = true,
  args = {
    arguments.at("socket", arguments.socket, "PATH", "the control socket"),
    {name = "role", type = arguments.choice {"server", "client"},
      default = "client", show = "server",
      help = "server: make the socket; client: connect to it"},
    {name = "id", type = arguments.integer(0, 4294967295), default = 0, show = "N",
      help = "number of the interface, the same at both ends"},
    {name = "queues", type = arguments.integer(1, 16), default = 1, show = "N",
      help = "queues each way, at most: the end that has fewer decides"},
    {name = "ring", type = arguments.integer(2, 16384), default = 1024, show = "1024",
      help = "slots of a queue, rounded up to a power of 2 (the client decides)"},
    {name = "buffer", type = arguments.integer(64, 65536), default = 2048,
      show = "2048",
      help = "a buffer's size; a longer packet takes several (the client decides)"},
    {name = "secret_file", type = arguments.file, default = "", show = "FILE",
      help = "a file whose first line both ends must know, up to 24 bytes"},
  },
  takes_shared = true,
  has_queues = true,
  thing = function (port)
    return ("memif %s %s %.0f"):format(port.role, port.socket, port.id)
  end,
  check = function (port, roots)
    needs.socket(port, port.role == "server" and not is_passed(port), false, roots)
    secret_of(port)
  end,
  open = function (device_port, port)
    if port.role == "server" and not is_passed(port) then needs.free_socket(port) end
    driver.check(port, C.pg_memif_open(device_port, options_of(port)))
  end,
  pass = function (device_port, _, connection)
    C.pg_memif_pass(device_port, connection)
  end,
  is_passed = is_passed,
  forget = C.pg_memif_forget,
  full_bursts = true,
  lingers = C.pg_memif_has_peer,
  wake_fds = driver.eventfds(MOST_DESCRIPTORS, C.pg_memif_descriptors),
  notify = C.pg_memif_notify,
  bench = {order = 4, receive = "memif:%s/memif,role=server", send = "memif:%s/memif",
    round = 512},
}

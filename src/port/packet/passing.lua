-- SPDX-License-Identifier: Apache-2.0
-- Who passes sockets to whom in an upgrade: the process that has a name (--keep) to the
-- standby that is to have it next (net.keep.standby), once it receives nothing more.
-- The main thread does so, and lets workers do so; each passes and takes its own ports.

local device = require("lib.port.device")
local keep = require("net.keep.keep")
local opened = require("lib.port.opened")
local outside = require("core.outside.visitors")
local turn = require("core.outside.standby")
local standby = require("net.keep.standby")
local unistd = require("posix.unistd")
local workers = require("core.cpus.workers")

local C = require("core.declare")("port/packet/packet.h")

local passing = {}

local TAP = {interface = function (port) return port.name end}

local listener -- a descriptor; nil: nothing is expected

local function path_of(pid)
  return standby.passing_path(keep.folder(), keep.name(), pid)
end

--- This process will open packet or tap ports. If it stands by, it takes those of the
--- other one.
function passing.expect()
  if listener or not (turn.waits() and keep.name()) then return end
  local path = path_of(unistd.getpid())
  local fd = C.pg_packet_listen(path)
  if fd < 0 then return end
  listener = fd
  turn.at_turn(function () C.pg_packet_accept(fd) end) -- workers open ports, too
  turn.at_takeover(function ()
    listener = nil
    unistd.close(fd)
    os.remove(path)
    C.pg_packet_forget()
  end)
end

--- Pass on this Lua state's ports by the connection, a descriptor.
function passing.pass_here(connection)
  for port, device_port in opened.each() do -- of others C passes nothing
    if device_port ~= true and C.pg_packet_pass(device_port, connection) < 0
      and C.pg_tap_pass(device_port, connection) == 0 then
      device.hand_over(port, TAP) -- its interface isn't put back
    end
  end
end

local function pass_on()
  local name = keep.name()
  local pid = name and standby.next(standby.next_path(keep.folder(), name))
  local connection = pid and C.pg_packet_connect(path_of(pid), pid) or -1
  if connection < 0 then return end
  passing.pass_here(connection)
  for _, cpu in ipairs(workers.places()) do -- one that is given up passes nothing
    pcall(workers.call, cpu, "port.packet.passing", "pass_here", connection)
  end
  unistd.close(connection)
end

outside.let_in{pass_on = pass_on}

return passing

-- SPDX-License-Identifier: Apache-2.0
-- What kinds of port need of the machine, for their `check`: what isn't there is
-- refused with a sentence that says what to do. `roots`: see lib.hardware.sysfs.

local C = require("core.native")
local dead_socket = require("core.outside.dead_socket")
local failure = require("core.failure")
local capability = require("lib.hardware.capability")
local files = require("lib.port.files")
local interfaces = require("lib.hardware.interfaces")
local log = require("core.lib.log")
local opened = require("lib.port.opened")
local standby = require("core.outside.standby")

local needs = {}

--- Refuse the parsed `port`: a usage error of this sentence.
function needs.refuse(port, fmt, ...)
  failure.usage("port '%s': " .. fmt, port.text, ...)
end
local refuse = needs.refuse

--- Refuse it if there is a problem (a sentence, or nil).
function needs.no_problem(port, problem)
  if problem then refuse(port, "%s", problem) end
end
local no_problem = needs.no_problem

--- These names as a list for a sentence.
function needs.listed(names)
  return #names > 0 and table.concat(names, ", ") or "none"
end

--- The process must have these capabilities (an array of names).
function needs.capabilities(port, names, roots)
  local missing = capability.missing(names, roots)
  if #missing > 0 then
    refuse(port, "this needs root or %s; run it with sudo",
      table.concat(missing, " and "))
  end
end

--- The machine's default route mustn't go over the interface `name`, if the port sends.
--- (That of a container, or a Mininet host, may.)
function needs.no_default_route(port, name, roots)
  if port.receive_only or port.force == 1 then return end
  local over = interfaces.default_route_over(name, roots)
  if over and not interfaces.is_apart(name, roots) then
    refuse(port, "the default route goes over '%s'%s, and a port on it could cut this"
      .. " machine off; use another interface, or %s", name,
      over == name and "" or (" (by '%s')"):format(over),
      port.force and ("write force=1 behind it ('%s,force=1') if that is wanted (to "
      .. "receive only, as `perigee capture` does, is allowed)"):format(port.text)
      or "move the route away first")
  end
end

--- The port's interface must be there and up, without the default route.
function needs.interface(port, roots)
  local name = port.iface
  if port.wait == 1 and not interfaces.is_up(name, roots) then return end
  if not interfaces.exists(name, roots) then
    refuse(port, "there is no kernel interface '%s'; there are: %s", name,
      needs.listed(interfaces.names(roots)))
  end
  needs.no_default_route(port, name, roots)
  if interfaces.is_up(name, roots) == false then
    refuse(port, "the interface '%s' is down; bring it up with: ip link set %s up",
      name, name)
  end
end

--- The port's Unix socket: one that it makes (unless another app of the device has),
--- that must be there, or that it waits for. A process that stands by, or that
--- begins while the one before it ends, makes it once that one, which may serve it, has
--- ended.
function needs.socket(port, makes_it, must_exist, roots)
  if port.split and C.pg_port_shared(port.split.device) then makes_it = false end
  if makes_it and not opened.serves(port.socket) and not standby.waits() then
    if files.socket_taken(port.socket, roots) then standby.await_end() end
    no_problem(port, files.socket_taken(port.socket, roots))
  elseif must_exist then
    no_problem(port, files.no_socket(port.socket))
  else
    no_problem(port, files.no_directory(port.socket))
  end
end

--- Before the port makes its Unix socket: remove what a process that was killed left.
function needs.free_socket(port)
  if not opened.serves(port.socket) and dead_socket.remove(port.socket) then
    log.info("port '%s': removed the socket that a process left as it ended", port.text)
  end
end

return needs

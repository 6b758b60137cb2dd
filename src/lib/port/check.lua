-- SPDX-License-Identifier: Apache-2.0
-- Looks at the machine before a port is plugged, and refuses with a sentence that says
-- what to do: DPDK's own drivers only log and return an error number. Changes nothing.
-- `roots` (optional, see lib.hardware.sysfs) lets tests bring their own /sys and /proc.

local claims = require("lib.port.claims")
local interfaces = require("lib.hardware.interfaces")
local kinds = require("lib.port.kinds")
local needs = require("lib.port.needs")
local sysfs = require("lib.hardware.sysfs")

local M = {}

--- No other open port may use what the parsed `port` needs: a usage error. Ports in
--- `leaving` (an array of parsed ports, optional) will be closed first.
function M.unclaimed(port, leaving)
  local user = claims.user(port, leaving)
  if user then
    needs.refuse(port, "this process uses it already%s; stop that app first, or use "
      .. "another", user.text == port.text and ""
      or (" by the port '%s'"):format(user.text))
  end
end

--- Can the parsed `port` be plugged here and now? If not: a usage error that says why
--- and what to do. Ports in `leaving` (an array of parsed ports, optional) will be
--- closed first, so what they use counts as free.
function M.ready(port, roots, leaving)
  M.unclaimed(port, leaving)
  local check = kinds.of(port).check
  if check then check(port, roots or sysfs.roots) end
end

--- A token for `check.alive`, to be taken when the port has been plugged: the number
--- of its kernel interface, or nil if the port has none.
function M.token(port, roots)
  local iface = kinds.interface(port)
  return iface and interfaces.index(iface, roots)
end

--- Is the kernel interface of the parsed `port` still the one it was opened on? True
--- for ports without one (`token` nil). It costs one small read of sysfs.
function M.alive(port, token, roots)
  return token == nil or interfaces.index(kinds.interface(port), roots) == token
end

return M

-- SPDX-License-Identifier: Apache-2.0
-- PCI devices in whose place other ports are used (perigee --port PCI=PORT, set by
-- lib.port.spec): full addresses to port strings.

local replaced = {}

local ports = {}

--- Let the port string `text` stand for the device at the full address; nil: nothing.
function replaced.set(address, text) ports[address] = text end

--- The port string that stands for it, or nil.
function replaced.by(address) return ports[address] end

--- All of them: a new table from full addresses to port strings.
function replaced.all()
  local copy = {}
  for address, text in pairs(ports) do copy[address] = text end
  return copy
end

return replaced

-- SPDX-License-Identifier: Apache-2.0
-- Devices that are replaced by other ports (perigee --port PCI=PORT and N=PORT, set
-- by lib.port.spec): full PCI addresses, and numbers, to port strings.

local tables = require("core.lib.tables")

local replaced = {}

local ports, by_number = {}, {}

--- Let the port string `text` stand for the device at the full address; nil: nothing.
function replaced.set(address, text) ports[address] = text end

--- The port string that stands for it, or nil.
function replaced.by(address) return ports[address] end

--- All of them: a new table from full addresses to port strings.
function replaced.all()
  return tables.copy(ports)
end

--- Let the port string `text` stand for device number `n`; nil: nothing.
function replaced.set_number(n, text) by_number[n] = text end

--- The port string that stands for device number `n`, or nil.
function replaced.number(n) return by_number[n] end

--- All of those: a new table from numbers to port strings.
function replaced.numbers()
  return tables.copy(by_number)
end

return replaced

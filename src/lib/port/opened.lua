-- SPDX-License-Identifier: Apache-2.0
-- The ports that are open in this Lua state: parsed port -> its struct port.

local opened = {}

local ports = {}

--- Note that the parsed `port` is open, until `forget` with the same table.
function opened.note(port, device_port) ports[port] = device_port or true end

--- Note that the parsed `port` is closed.
function opened.forget(port) ports[port] = nil end

--- For loops: each parsed port that is open, and its struct port.
function opened.each() return pairs(ports) end

--- All of them, an array of parsed ports.
function opened.list()
  local list = {}
  for port in pairs(ports) do list[#list + 1] = port end
  return list
end

--- Does one of them serve the Unix socket `path`?
function opened.serves(path)
  for port in pairs(ports) do
    if port.socket == path then return true end
  end
  return false
end

return opened

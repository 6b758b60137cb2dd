-- SPDX-License-Identifier: Apache-2.0
-- A flow's addresses and ports as keys of tables (net.flow), as they are in packets.

local ffi = require("ffi")

local rol = bit.rol
local words_t = ffi.typeof("const int32_t *")

local ends_key = {}

--- The type of keys: the source and destination address, and the ports.
ends_key.type = ffi.typeof("struct { int32_t source, destination, ports; }")

--- Set the key to the ends of the packet whose IPv4 header is at `ip` and whose ports
--- are at `ports` (nil: it has none).
function ends_key.read(key, ip, ports)
  local words = ffi.cast(words_t, ip)
  key.source, key.destination = words[3], words[4]
  key.ports = ports and ffi.cast(words_t, ports)[0] or 0
end

--- The same of a packet in the other direction.
function ends_key.read_back(key, ip, ports)
  local words = ffi.cast(words_t, ip)
  key.source, key.destination = words[4], words[3]
  key.ports = ports and rol(ffi.cast(words_t, ports)[0], 16) or 0
end

return ends_key

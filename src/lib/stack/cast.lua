-- SPDX-License-Identifier: Apache-2.0
-- The cast of a stack: a C type with the layout of struct packet, whose members are
-- the headers. Its __index is written for each stack, so that LuaJIT folds
-- `pkt.ip4` into an address, data + 14. Nothing slow is done here: a program may
-- make many stacks.

local ffi = require("ffi")
require("core.packet")

local cast = {}

ffi.cdef[[
union perigee_payload {
  uint8_t uint8[0];
  uint16_t uint16[0];
  uint32_t uint32[0];
  uint64_t uint64[0];
} __attribute__((packed));
]]

local PACKET = "struct { union { struct packet packet; struct packet; }; }"
local packet_pointer = ffi.typeof("struct packet *")
local payload_pointer = ffi.typeof("union perigee_payload *")

local function source(shape)
  local names, lines = {}, {}
  for i, item in ipairs(shape.items) do
    names[i] = "H" .. i
    lines[i] = ("if k == %q then return (cast(H%d, p.buf_addr + p.data_off + %d)) end")
      :format(item.label, i, item.offset)
  end
  local n = #lines
  if not shape.no_payload then
    lines[n + 1] = 'if k == "payload" then return (cast(Y, p.buf_addr + p.data_off + '
      .. shape.size .. ")) end"
  end
  return ([[
local cast, T, methods, P, Y%s = ...
return function (p, k)
%s
if k == "data" then return p.buf_addr + p.data_off end
if k == "packet" then return (cast(P, p)) end
return methods[k]
end, function (_, p) return (cast(T, p)) end]])
    :format(n > 0 and ", " .. table.concat(names, ", ") or "",
      table.concat(lines, "\n"))
end

--- The function that casts a packet to the shape (called with anything and the
--- packet), and the C type of a pointer to it. `methods` holds the type's methods.
function cast.new(shape, methods)
  local ctype = ffi.typeof(PACKET)
  local pointer = ffi.typeof("$ *", ctype)
  local pointers = {}
  for i, item in ipairs(shape.items) do pointers[i] = item.layout.fast_pointer end
  local index, call = loadstring(source(shape), "=stack")(ffi.cast, pointer, methods,
    packet_pointer, payload_pointer, unpack(pointers))
  ffi.metatype(ctype, {__index = index})
  return call, pointer
end

return cast

-- SPDX-License-Identifier: Apache-2.0
-- The cast of a stack: a C type with the layout of struct packet, whose members are
-- the headers. Its __index is written for each stack, so that LuaJIT folds
-- `pkt.ip4` into an address, data + 14. Nothing slow is done here: a program may
-- make many stacks.

local ffi = require("ffi")
local cells = require("lib.stack.layout.cells")
local mode = require("core.check.mode")
local missing = require("lib.stack.layout.missing")
local operand = require("lib.stack.packet.operand")

-- Compiling what runs a few times takes longer than running it.
jit.off(true, true)

local cast = {}

local PAYLOAD = {"uint8", "uint16", "uint32", "uint64"}
local OF_PAYLOAD = "it has uint8, uint16, uint32 and uint64"

local function payload_names() return PAYLOAD end

local payload_index, set_payload = cells.payload("perigee_payload",
  missing.index("payload", payload_names, OF_PAYLOAD),
  missing.newindex("payload", payload_names, OF_PAYLOAD, 1))
ffi.metatype("union perigee_payload", missing.operators({
  __index = payload_index, __newindex = set_payload,
}, "payload", OF_PAYLOAD))

local PACKET = "struct { union { struct packet packet; struct packet; }; }"
local END = [[
if k == "data" then return p.buf_addr + p.data_off end
if k == "packet" then return (cast(P, p)) end
return methods[k]
end, function (_, p)
if istype(Packet, p) then return (cast(T, p)) end
return (cast(T, packet_of(p)))
end, function (_, k) return members[k] end]]

-- With --check, that is looked at (core.check.fields).
if mode.on then
  END = 'if k == "length" or k == "data" then return cast(P, p)[k] end\n' .. END
end

local packet_pointer = ffi.typeof("struct packet *")
local payload_pointer = ffi.typeof("union perigee_payload *")

-- Source for n headers: a test and a result for each member. Labels and offsets are
-- upvalues, which LuaJIT takes as constants; so one text does for all stacks of n.
local function source(n, no_payload)
  local lines = {"local cast, T, methods, members, P, Y, S, istype, Packet, packet_of"}
  for i = 1, n do lines[#lines + 1] = (", K%d, H%d, O%d"):format(i, i, i) end
  lines[#lines + 1] = " = ...\nreturn function (p, k)\n"
  for i = 1, n do
    lines[#lines + 1] = ("if k == K%d then return "):format(i)
      .. ("(cast(H%d, p.buf_addr + p.data_off + O%d)) end\n"):format(i, i)
  end
  if not no_payload then
    lines[#lines + 1] = 'if k == "payload" then return '
      .. "(cast(Y, p.buf_addr + p.data_off + S)) end\n"
  end
  lines[#lines + 1] = END
  return table.concat(lines)
end

local codes = {} -- by n, positive or (without a payload) negative: LuaJIT's bytecode

-- New prototypes each time: a stack's traces are its own. Reading bytecode is several
-- times as fast as reading source.
local function chunk(shape)
  local n = #shape.items
  local key = shape.no_payload and -1 - n or n
  if not codes[key] then
    codes[key] = string.dump(assert(loadstring(source(n, shape.no_payload), "=stack")))
  end
  return loadstring(codes[key])
end

local function not_a_member(p, name, value)
  if mode.on and name == "length" then
    ffi.cast(packet_pointer, p).length = value
    return
  end
  error(("a packet has no member '%s' to set; its headers have set<Field>, and it has "
    .. "length"):format(tostring(name)), 2)
end

--- The stack of the shape: an object that casts packets when it is called. `methods`
--- are those of its packets, `members` its own. (It is a cdata object without bytes:
--- as an upvalue, LuaJIT takes one as a constant; a table would be looked at again for
--- each packet.) Returns the C type of a pointer to a packet, too.
function cast.new(shape, methods, members)
  local packet_type = ffi.typeof(PACKET)
  local pointer = ffi.typeof("$ *", packet_type)
  local headers = {}
  for i, item in ipairs(shape.items) do
    headers[3 * i - 2], headers[3 * i - 1] = item.label, item.layout.fast_pointer
    headers[3 * i] = item.offset
  end
  local index, call, member = chunk(shape)(ffi.cast, pointer, methods, members,
    packet_pointer, payload_pointer, shape.size, ffi.istype, operand.Packet,
    operand.packet, unpack(headers))
  ffi.metatype(packet_type, missing.operators(
    {__index = index, __newindex = not_a_member}, "a packet",
    "it has length, and its headers have fields"))
  local stack = ffi.metatype(ffi.typeof("struct {}"), {__call = call, __index = member})
  return stack(), pointer
end

return cast

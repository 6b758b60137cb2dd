-- SPDX-License-Identifier: Apache-2.0
-- What is cast must be a packet: LuaJIT makes a pointer of any number. In a loop the
-- type of what is cast is known, so the test is gone from compiled code.

local ffi = require("ffi")
local luajit = require("core.luajit")
require("core.packet")

local Packet = ffi.typeof("struct packet")
-- What is passed by mistake; to ask any cdata for `packet` under pcall costs more than
-- the cast itself.
local bytes_t, void_t = ffi.typeof("uint8_t *"), ffi.typeof("void *")
local burst_t = ffi.typeof("struct packet **")

local istype = ffi.istype
local type, tonumber, tostring = type, tonumber, tostring

local operand = {Packet = Packet}

local function refuse(value)
  local what = type(value) == "string" and "'" .. value .. "'" or tostring(value)
  if type(value) == "table" or type(value) == "function" then
    what = "a " .. type(value)
  end
  error(("a stack takes a packet, not %s"):format(what), 4)
end

local function can_be_asked(value)
  if type(value) == "table" then return true end -- a resolved packet
  return type(value) == "cdata" and not (istype(bytes_t, value)
    or istype(void_t, value) or istype(burst_t, value) or tonumber(value))
end

--- The packet that `value` is, under whatever stack's type (or resolved). Raises a
--- sentence if it is none; for functions that a program calls with a packet.
function operand.packet(value)
  if istype(Packet, value) then return value end
  if not can_be_asked(value) then refuse(value) end
  local p = value.packet -- headers say that they have none
  if not istype(Packet, p) then refuse(value) end
  return p
end

--- The same for slow code (core.luajit).
operand.slow_packet = luajit.copy(operand.packet)

return operand

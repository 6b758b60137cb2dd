-- SPDX-License-Identifier: Apache-2.0
-- libmoon's methods on packets: p:getUdpPacket() and the other ready casts, p:get(),
-- p:dump(), sizes and bytes, and those of lib.stack.offload. Loading this module gives
-- them to every packet.

local ffi = require("ffi")
local packet = require("core.packet")
local casts = require("lib.stack.packet.ready_casts")
require("lib.stack.offload")
local resolve = require("lib.stack.packet.resolve")

local methods = packet.methods
local cast = ffi.cast
local void_pointer = ffi.typeof("void *")

local MAX_PAYLOAD = packet.max_payload

-- ---- casts ----

-- Each is compiled apart from the others, so that LuaJIT sees constant C types. No
-- tail calls: a trace may have only 15.
local CAST = [[
local cast, T, T6 = ...
return function (p, ip4)
  if ip4 == false then return (cast(T6, p)) end
  return (cast(T, p))
end]]

for name, stack in pairs(casts) do
  methods[name] = loadstring(CAST, "=" .. name)(cast, stack.shape.pointer,
    (casts.six[name] or stack).shape.pointer)
end

--- The packet's headers, whatever they are (lib.stack.packet.resolve); slow.
function methods.get(p)
  return resolve(p)
end

--- Write the packet as text, with its first `bytes` bytes in hex (nil: all), or on one
--- line as tcpdump does ("line"), to `stream` (nil: standard output); returns the text.
--- Slow.
function methods.dump(p, bytes, stream)
  return resolve(p):dump(bytes, stream)
end

-- ---- bytes ----

--- The packet's first byte, as a uint8_t pointer.
function methods.getBytes(p)
  return p.buf_addr + p.data_off
end

--- The same as a void pointer.
function methods.getData(p)
  return (cast(void_pointer, p.buf_addr + p.data_off))
end

--- Bytes of the packet.
function methods.getSize(p)
  return p.length
end

local function bad_size(size)
  error(("a packet has 0 to %d bytes, not %s"):format(MAX_PAYLOAD, tostring(size)), 3)
end

--- Make the packet `size` bytes long; bytes new in it are what they were.
function methods.setSize(p, size)
  if not (size >= 0 and size <= MAX_PAYLOAD) then bad_size(size) end
  p.length = size
end

--- Make the packet the bytes of the string, no more and no less.
function methods.setRawPacket(p, bytes)
  if type(bytes) ~= "string" then
    error(("setRawPacket takes a string, not a %s"):format(type(bytes)), 2)
  end
  if #bytes > MAX_PAYLOAD then bad_size(#bytes) end
  p.length = #bytes
  ffi.copy(p.data, bytes, #bytes)
end

return methods

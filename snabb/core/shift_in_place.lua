-- SPDX-License-Identifier: Apache-2.0
-- Packets as Snabb had them before 2017: shiftleft(), shiftright() and prepend() move
-- the bytes, and p.data stays where it is. Programs of then hold pointers across them.

local ffi = require("ffi")
local packet = require("core.packet")

local shift_in_place = {}

local copy, memmove = ffi.copy, ffi.C.memmove -- declared by core.packet

local function check(what, p, n, least, most)
  if n >= least and n <= most then return end
  error(("can't %s %d bytes of a packet of %d"):format(what, n, p.length), 3)
end

local function shiftleft(p, n)
  check("drop", p, n, 0, p.length)
  memmove(p.data, p.data + n, p.length - n)
  p.length = p.length - n
  return p
end

-- From p.data on there is room for max_payload bytes in any packet.
local function shiftright(p, n)
  check("open", p, n, 0, packet.max_payload - p.length)
  memmove(p.data + n, p.data, p.length)
  p.length = p.length + n
  return p
end

local function prepend(p, pointer, length)
  shiftright(p, length)
  copy(p.data, pointer, length)
  return p
end

--- Does a core/packet.lua with this text shift in place? Its shiftright() gives nothing
--- back: the packet is where it was.
function shift_in_place.is_meant(text)
  local body = text and text:match("\nfunction%s+shiftright%s*%b()(.-)\nend")
  return body ~= nil and body:find("memmove", 1, true) ~= nil
    and not body:find("return", 1, true)
end

--- Let packets be shifted in place from now on.
function shift_in_place.begin()
  packet.shiftleft, packet.shiftright, packet.prepend = shiftleft, shiftright, prepend
end

return shift_in_place

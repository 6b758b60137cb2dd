-- SPDX-License-Identifier: Apache-2.0
-- Headers of keyed IPv6 tunnels (RFC 8159): L2TPv3 over IPv6 with a session and a
-- cookie of 64 bits. Only these are meant by protocol 115 here.

local ffi = require("ffi")
local arguments = require("core.lib.arguments")
local check = require("lib.protocol.check")
local class = require("lib.lua.class")
local fields = require("lib.protocol.fields")
local header = require("lib.protocol.header")

ffi.cdef[[
typedef union { uint8_t cookie[8]; uint64_t cookie_64bit; } cookie_t;
]]

local cookie_t = ffi.metatype("cookie_t", {
  __tostring = function (c)
    return "0x" .. ffi.string(c.cookie, 8):gsub(".", function (byte)
      return ("%02x"):format(byte:byte())
    end)
  end,
  __eq = function (a, b)
    return ffi.istype("cookie_t", a) and ffi.istype("cookie_t", b)
      and a.cookie_64bit == b.cookie_64bit
  end,
})

local NO_SESSION = 0xffffffff -- the addresses alone tell which tunnel

local tunnel = class.subClass(header)
tunnel._name = "keyed ipv6 tunnel"
tunnel:init{ffi.typeof[[
  struct { uint32_t session_id; cookie_t cookie; } __attribute__((packed))
]]}

--- A cookie of the string's 8 bytes.
function tunnel:new_cookie(s)
  if type(s) ~= "string" or #s ~= 8 then
    error(("invalid cookie '%s': it must be a string of 8 bytes")
      :format(tostring(s)), 2)
  end
  local c = cookie_t()
  ffi.copy(c.cookie, s, 8)
  return c
end

--- A header of `session_id` (default: all ones) and `cookie` (from new_cookie; default:
--- zeros).
function tunnel:new(config)
  config = config or {}
  if type(config) ~= "table" then check.fields("keyed_ipv6_tunnel", config) end
  local o = tunnel:superClass().new(self)
  o:session_id(config.session_id or NO_SESSION)
  o:cookie(config.cookie)
  return o
end

--- The header at `memory`; nil if `size` bytes are too few, or it is a control message
--- (session 0).
function tunnel:new_from_mem(memory, size)
  local o = tunnel:superClass().new_from_mem(self, memory, size)
  if not o then return nil end
  if o:session_id() ~= 0 then return o end
  o:free()
  return nil
end

fields.u32(tunnel, "session_id", "session_id")
local session_id = tunnel.session_id

--- The session: not 0.
function tunnel:session_id(id)
  if id == 0 then error("invalid session id 0: it means control messages", 2) end
  return (session_id(self, id))
end

--- The cookie.
function tunnel:cookie(c)
  local h = self:header()
  if type(c) ~= "nil" and type(c) ~= "table" and not ffi.istype(cookie_t, c) then
    error(("cookie()'s argument is %s; it takes what new_cookie() returns"):format(
      arguments.shown(c)), 2)
  end
  if c ~= nil then h.cookie.cookie_64bit = c.cookie_64bit end
  return h.cookie
end

return tunnel

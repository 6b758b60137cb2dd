-- SPDX-License-Identifier: Apache-2.0
-- Prefixes as text (RFC 4632, section 3.1).

local ffi = require("ffi")
local C = require("core.declare")("net/route/route.h")

local prefixes = {}

local prefix = ffi.new("struct ip4_prefix")

--- Of "192.0.2.0/24" the address as a number, host bits and all, and the length; nil if
--- the text isn't such.
function prefixes.ip4(text)
  if not C.pg_ip4_prefix_read(text, #text, prefix) then return nil end
  return prefix.address, prefix.length
end

return prefixes

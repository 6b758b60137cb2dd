-- SPDX-License-Identifier: Apache-2.0
-- The longest of a list of IPv6 prefixes that an address has, found in C.

local ffi = require("ffi")
local C = require("core.declare")("net/route/route.h")
local failure = require("core.failure")

local table6 = {}

local ADDRESS = 16 -- bytes
local routes_t = ffi.typeof("struct ip6_route[?]")
local table_t = ffi.typeof("struct ip6_table")

--- Of a list of prefixes {address = 16 bytes, length =} a table for
--- C.pg_ip6_table_look_up(table, bytes): the place in the list of the longest prefix of
--- the address, the first of several that are the same; 0: there is none.
function table6.new(list)
  local routes, t = routes_t(#list), table_t()
  for i, prefix in ipairs(list) do
    local to = routes[i - 1]
    ffi.copy(to.address, prefix.address, ADDRESS)
    to.length, to.value = prefix.length, i
  end
  if not C.pg_ip6_table_build(t, routes, #list) then
    failure.raise("no memory for so many routes")
  end
  return ffi.gc(t, C.pg_ip6_table_free)
end

return table6

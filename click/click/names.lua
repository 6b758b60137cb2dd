-- SPDX-License-Identifier: Apache-2.0
-- Names for values (addresses, ports, annotations), which elements such as AddressInfo
-- define for their compound element and what is within it. What none defines may be an
-- interface of the host.

local host_addresses = require("click.host_addresses")

local names = {}

local Names = {}
Names.__index = Names

--- An empty table of names: a router has one, `router.names`.
function names.new() return setmetatable({kinds = {}}, Names) end

-- The compound elements around an element's name, from the inside: "a/b/", "a/", "".
local function outwards(scope)
  return scope:match("^(.*/)[^/]*/$") or ""
end

local function scope_of(name)
  return name and name:match("^(.*/)") or ""
end

--- Let `name` stand for `value` of a `kind` (ip, ip_prefix, ip6, ip6_prefix, eth, port,
--- annotation...) within the compound that has the element called `element` (nil: all).
function Names:define(kind, element, name, value)
  local scopes = self.kinds[kind] or {}
  self.kinds[kind] = scopes
  local scope = scope_of(element)
  scopes[scope] = scopes[scope] or {}
  scopes[scope][name] = value
end

--- The value of that kind that elements define for `name` where the element called
--- `element` is; nil if there is none.
function Names:defined(kind, element, name)
  local scopes, scope = self.kinds[kind], scope_of(element)
  while scopes do
    local value = scopes[scope] and scopes[scope][name]
    if value ~= nil then return value end
    if scope == "" then break end
    scope = outwards(scope)
  end
end

--- The same; if none is defined, the host's interface of that name's.
function Names:find(kind, element, name)
  local value = self:defined(kind, element, name)
  if value ~= nil then return value end
  return host_addresses.find(kind, name)
end

--- The same for an element, which has a `router`; it may be nil.
function names.find(kind, element, name)
  local router = element and element.router
  if router and router.names then return router.names:find(kind, element.name, name) end
end

return names

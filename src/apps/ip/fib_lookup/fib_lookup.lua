-- SPDX-License-Identifier: Apache-2.0
-- FibLookup: looks up the IPv4 destinations of a burst of packets in a routing
-- table (DPDK's rte_fib, net/route) and writes each packet's next hop into its hash[1].

local ffi = require("ffi")
local C = require("core.declare")("net/route/route.h")
local arguments = require("core.lib.arguments")
local eal = require("core.eal")
local failure = require("core.failure")
local prefixes = require("net.route.prefix")

local FibLookup = {
  argument = "table?", outputs = {"output"}, drops = {"no_route", "short"},
}
FibLookup.__index = FibLookup
FibLookup.division = "any"
FibLookup.reconfig_keeps = {}

FibLookup.link_names = {input = {input = true}, output = {output = true}}

local DEFAULT_MAX_ROUTES = 65536

--- Make the app: `arg.routes` maps prefixes ("192.0.2.0/24") to next hops (1 and
--- up), `arg.max_routes` (65536) is how many the table has room for.
function FibLookup:new(arg)
  arg = arg or {}
  arguments.check("FibLookup: routes", "table?", arg.routes)
  arguments.check("FibLookup: max_routes", "count?", arg.max_routes)
  eal.start()
  local fib = C.pg_fib_create(arg.max_routes or DEFAULT_MAX_ROUTES)
  if fib == nil then failure.raise("%s", ffi.string(C.pg_error())) end
  local app = setmetatable({fib = fib}, self)
  local ok, err = pcall(function ()
    for prefix, next_hop in pairs(arg.routes or {}) do app:add(prefix, next_hop) end
  end)
  if not ok then
    app:stop()
    error(err, 0)
  end
  return app
end

--- Route the prefix ("192.0.2.0/24") to `next_hop`, in the place of the route it
--- may have.
function FibLookup:add(prefix, next_hop)
  local address, length = prefixes.ip4(tostring(prefix))
  if not address then
    failure.usage("'%s' isn't an IPv4 prefix such as 192.0.2.0/24", tostring(prefix))
  end
  self:add_number(address, length, next_hop)
end

--- The same with the prefix as a number (0xc0000200) and its length.
function FibLookup:add_number(address, length, next_hop)
  arguments.whole("a next hop", next_hop, 1, 2 ^ 31 - 1)
  if C.pg_fib_add(self.fib, address, length, next_hop) < 0 then
    failure.raise("%s", ffi.string(C.pg_error()))
  end
end

--- Look up `n` packets; those without a route, or too short, are dropped.
function FibLookup:process_burst(packets, n, route)
  C.pg_fib_lookup(self.fib, packets, n, route)
end

--- Give the table back.
function FibLookup:stop()
  C.pg_fib_free(self.fib)
  self.fib = nil
end

return {FibLookup = FibLookup}

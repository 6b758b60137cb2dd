-- SPDX-License-Identifier: Apache-2.0
-- perigee run bench/lua/router.lua PORT ROUTES SECONDS: the packets that come from PORT
-- go through an IPv4 router's path: check the header, look up the route, count down the
-- TTL, write the next hop's addresses. Prints what
-- bench/native/router.c prints: packets received, CPU seconds, TSC Hz.
--
-- ROUTES is a binary file, made by bench/suite/router.py: of each route the address,
-- length and next hop as three 32-bit numbers of this CPU.

local ffi = require("ffi")
local C = require("core.native")
local CheckHeader = require("apps.ip.check_header.check_header").CheckHeader
local DecTtl = require("apps.ip.dec_ttl.dec_ttl").DecTtl
local FibLookup = require("apps.ip.fib_lookup.fib_lookup").FibLookup
local Port = require("apps.port.port").Port
local RewriteMacs = require("apps.ip.rewrite_macs.rewrite_macs").RewriteMacs

local WARM_UP_SECONDS = 0.3
local HOPS = 16

local record_t = ffi.typeof("struct { uint32_t address, length, next_hop; }")

local function read_routes(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  local n = #text / ffi.sizeof(record_t)
  local routes = ffi.new(ffi.typeof("$[?]", record_t), n)
  ffi.copy(routes, text, #text)
  return routes, n
end

local function next_hops()
  local list = {}
  for i = 1, HOPS do
    list[i] = {destination = ("02:00:00:00:01:%02x"):format(i),
               source = ("02:00:00:00:02:%02x"):format(i)}
  end
  return list
end

local function main(from, routes_file, seconds)
  local routes, n = read_routes(routes_file)
  local c = config.new()
  config.app(c, "in", Port, from)
  config.app(c, "check", CheckHeader)
  config.app(c, "fib", FibLookup, {max_routes = n})
  config.app(c, "ttl", DecTtl)
  config.app(c, "macs", RewriteMacs, next_hops())
  config.app(c, "out", Port, "null")
  config.link(c, "in.output -> check.input")
  config.link(c, "check.output -> fib.input")
  config.link(c, "fib.output -> ttl.input")
  config.link(c, "ttl.output -> macs.input")
  config.link(c, "macs.output -> out.input")
  engine.busywait = true
  engine.configure(c)
  local fib = engine.app_table.fib
  for i = 0, n - 1 do
    fib:add_number(routes[i].address, routes[i].length, routes[i].next_hop)
  end
  local port, out = engine.app_table["in"].port, engine.app_table.out.port
  engine.main{duration = WARM_UP_SECONDS, no_report = true}
  local packets, cpu, sent = port.rxpackets, C.pg_cpu_seconds(), out.txpackets
  engine.main{duration = tonumber(seconds), no_report = true}
  packets, sent = tonumber(port.rxpackets - packets), tonumber(out.txpackets - sent)
  if sent < 0.99 * packets then
    error(("%d of %d packets were lost"):format(packets - sent, packets))
  end
  print(("%d %.6f %d"):format(packets, C.pg_cpu_seconds() - cpu,
    tonumber(C.pg_tsc_hz())))
end

main(...)

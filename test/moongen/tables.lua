-- SPDX-License-Identifier: Apache-2.0
-- Routes what device 0 receives to the queues of device 1 by their destinations, counts
-- packets by source port in a hash map that two tasks share, and tells Graphite.

local bitmask = require "bitmask"
local device = require "device"
local distribute = require "distribute"
local ffi = require "ffi"
local graphite = require "graphite"
local hmap = require "hmap"
local lm = require "libmoon"
local lpm = require "lpm"
local memory = require "memory"

ffi.cdef "struct route { uint8_t output; uint8_t mac[6]; };"

function master(n, server)
  local dev, out = device.config{port = 0}, device.config{port = 1, txQueues = 2}
  local routes = lpm.createLpm4Table(nil, nil, "struct route")
  for i, route in ipairs{{"10.0.0.0", 8}, {"10.1.0.0", 16}, {"10.1.2.3", 32}} do
    local entry = routes:allocateEntry()
    entry[0].output, entry[0].mac[5] = i % 2, i
    routes:addEntry(parseIPAddress(route[1]), route[2], entry)
  end
  local map = hmap.createHashmap(8, 8)
  local tasks = {lm.startTask("count", map, n), lm.startTask("count", map, n)}
  lm.startTask("route", dev:getRxQueue(0), out:getTxQueue(0), out:getTxQueue(1), routes,
    n):wait()
  for _, task in ipairs(tasks) do task:wait() end
  local a, key, sum = map.newAccessor(), ffi.new("uint64_t[1]"), 0
  for i = 0, 9 do
    key[0] = i
    if map:find(a, key) then sum = sum + ffi.cast("uint64_t *", a:get())[0] end
  end
  a:free()
  map:delete()
  print("counted", tonumber(sum))
  if server then
    local writer = graphite.newWriter(server, "test")
    writer:write("counted", sum)
    writer:close()
  end
end

function count(map, n)
  local a, key = map.newAccessor(), ffi.new("uint64_t[1]")
  for i = 1, n do
    key[0] = i % 10
    map:access(a, key)
    local value = ffi.cast("uint64_t *", a:get())
    value[0] = value[0] + 1
    a:release()
  end
end

function route(rx, first, second, routes, n)
  local bufs, mask = memory.bufArray(64), bitmask.createBitMask(64)
  local routed, alive = bitmask.createBitMask(64), bitmask.createBitMask(64)
  local entries = routes:allocateEntryPtrs(64)
  local to = distribute.createDistributor(nil, 0, 2)
  to:registerOutput(0, first, 16, 0.001)
  to:registerOutput(1, second, 16, 0.001)
  local got = 0
  while got < n and lm.running() do
    local m = rx:tryRecv(bufs, 10000)
    got = got + m
    mask:clearAll():setN(m)
    bufs:resize(m)
    routes:lookupBurst(bufs, mask, routed, entries)
    lpm.decrementTTL(bufs, routed, alive)
    lpm.applyRoute(bufs, alive, entries)
    to:send(bufs, alive, entries)
    for i = 1, m do
      if not alive[i] then bufs[i]:free() end
    end
    bufs:resize(64)
    to:handleTimeouts()
  end
  lm.sleepMillis(2)
  to:handleTimeouts()
end

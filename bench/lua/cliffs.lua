-- SPDX-License-Identifier: Apache-2.0
-- perigee run bench/lua/cliffs.lua WHAT CALLS FIRST SECONDS: does a packet loop through
-- a stack stay fast? One function sets three fields and reads two of each packet of a
-- burst, at every size of burst listed below, that at place FIRST first; then CALLS
-- calls of the slow function WHAT (fill, get, getString, dump, verify, resolve,
-- createStack, or all in turn) are made, and all is measured again; and in C each time.
-- Prints a line for each size: TSC cycles a packet before and after, and C's.

local ffi = require("ffi")
local C = require("core.native")
local packet = require("core.packet")
local stack = require("lib.stack")

ffi.cdef[[
uint32_t bench_burst(struct packet **packets, uint32_t count, uint32_t n);
]]
local root = debug.getinfo(1, "S").source:match("^@(.*)bench/lua/") or ""
local native = ffi.load(root .. "build/bench/stack.so")

local MOST, TURNS = 256, 9
-- Primes, powers of two and their neighbours.
local BURSTS = {1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 15, 16, 17, 19, 23, 29, 31, 32, 33, 37,
  41, 43, 47, 53, 59, 61, 63, 64, 65, 67, 71, 79, 89, 97, 101, 113, 127, 128, 129, 131,
  149, 167, 181, 191, 199, 211, 223, 239, 251, 255, 256}

local what, calls, first, seconds = ...
calls, first, seconds = tonumber(calls), tonumber(first), tonumber(seconds)

local as = stack.createStack("eth", "ip4", "udp")
local packets = ffi.new("struct packet *[?]", MOST)
for i = 0, MOST - 1 do
  packets[i] = packet.allocate()
  as(packets[i]):fill{pktLength = 60}
end

local function one_burst(burst, count, i)
  local total = 0
  for k = 0, count - 1 do
    local pkt = as(burst[k])
    pkt.ip4.src:set(i)
    pkt.ip4:setTTL(pkt.ip4:getTTL() - 1)
    pkt.udp:setDstPort(i)
    total = total + pkt.udp:getLength()
  end
  return total
end

local function in_lua(burst, count, n)
  local total = 0
  for i = 1, n do total = total + one_burst(burst, count, i) end
  return total
end

-- TSC cycles a packet, the median of a few turns each of Lua and C.
local function measure(count)
  local n = math.ceil(seconds * 4e8 / (count + 4))
  local mine, other = {}, {}
  for i = 1, TURNS do
    local began = C.pg_cpu_seconds()
    in_lua(packets, count, n)
    local between = C.pg_cpu_seconds()
    native.bench_burst(packets, count, n)
    mine[i], other[i] = between - began, C.pg_cpu_seconds() - between
  end
  table.sort(mine)
  table.sort(other)
  local cycles = tonumber(C.pg_tsc_hz()) / (n * count)
  local middle = math.ceil(TURNS / 2)
  return mine[middle] * cycles, other[middle] * cycles
end

local function measure_all()
  local mine, other = {}, {}
  for i = 0, #BURSTS - 1 do
    local place = (first + i) % #BURSTS + 1
    mine[place], other[place] = measure(BURSTS[place])
  end
  return mine, other
end

local nowhere = {write = function () end}
local slow = {
  fill = function (p, i) as(p):fill{ip4Src = i, udpDst = i % 100, pktLength = 60} end,
  get = function (p) return as(p):get() end,
  getString = function (p) return as(p):getString() end,
  dump = function (p) as(p):dump(0, nowhere) end,
  verify = function (p) return as(p):verify() end,
  resolve = function (p) return stack.resolve(p) end,
  createStack = function () return stack.createStack("eth", "ip4", "udp") end,
}
local kinds = {"fill", "get", "getString", "dump", "verify", "resolve", "createStack"}

local function call_slow()
  for i = 1, calls do
    slow[what == "all" and kinds[i % #kinds + 1] or what](packets[i % MOST], i)
  end
  for i = 0, MOST - 1 do as(packets[i]):fill{pktLength = 60} end
end

assert(in_lua(packets, 7, 3) == native.bench_burst(packets, 7, 3))

local before, c_before = measure_all()
call_slow()
local after, c_after = measure_all()
for place, count in ipairs(BURSTS) do
  print(("%d %.4f %.4f %.4f %.4f"):format(count, before[place], after[place],
    c_before[place], c_after[place]))
end

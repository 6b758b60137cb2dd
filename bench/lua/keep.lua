-- SPDX-License-Identifier: Apache-2.0
-- Tables that are kept (net.keep) beside tables that aren't, of so many flows, in turn:
--   use FLOWS SECONDS   prints the nanoseconds of CPU time that a flow takes, kept and
--                       not: bursts of 64 random ones are found, and are new again
--   go-on FLOWS         prints the seconds of CPU time until a process finds the first
--                       flow of one that was killed, until it has all, and, in between,
--                       that finding one of them and one that there isn't take
-- State is kept in a folder of its own, below the root of shared memory.

local C = require("core.native")
local declare = require("core.declare")
local F = declare("net/flow/flow.h")
local ffi = require("ffi")
local flow = require("net.flow.flow")
local keep = require("net.keep.keep")
local packet = require("core.packet")
local outside = require("core.outside.visitors")
local tables = require("net.keep.tables")
local tree = require("core.shm.tree")

local what, flows, seconds = ...
flows, seconds = tonumber(flows), tonumber(seconds)

local BURST, TURN_BURSTS, SOME = 64, 2000, 1000
local TIMEOUT, AT_ONCE = 1e6, 4096
local NAME = ("bench-%d"):format(require("posix.unistd").getpid())
local value_t = ffi.typeof("struct { uint64_t word[4]; }") -- as large as a NAT's

local function new_table()
  return flow.new{key = "struct { uint32_t word[4]; }", value = value_t, limit = flows,
    ages = {TIMEOUT}}
end

local function item(t)
  return tables.item{of = "flows", layout = "bench 1", flows = t,
    now = function () return 1 end}
end

-- As flows come: another thread has time to make large pages.
local function wait_for_pages()
  repeat
    local fills = F.pg_flow_fills()
  until fills.asked == fills.large + fills.late + fills.failed
end

local function fill(t)
  local key = ffi.new("uint32_t[4]")
  for i = 1, flows do
    key[0] = i
    t:add(key, 1)
    if i % AT_ONCE == 0 then wait_for_pages() end
  end
end

local keys = ffi.new("uint32_t[?]", BURST * 4)
local numbers = ffi.new("uint32_t[?]", BURST)
local chance, now = 1, 1

local function turn(t)
  local native, before = t.table, C.pg_cpu_seconds()
  for _ = 1, TURN_BURSTS do
    now = now + 1
    for i = 0, BURST - 1 do
      chance = (chance * 1103515245 + 12345) % 2 ^ 31
      keys[4 * i] = math.floor(chance / 8) % flows + 1
    end
    F.pg_flow_table_find_many(native, keys, 16, BURST, numbers)
    for i = 0, BURST - 1 do F.pg_flow_table_touch(native, numbers[i], 0, now) end
  end
  return (C.pg_cpu_seconds() - before) * 1e9 / (TURN_BURSTS * BURST)
end

local function median(list)
  table.sort(list)
  return list[math.floor((#list + 1) / 2)]
end

local function use()
  local kept, plain = new_table(), new_table()
  keep.records(item(kept))
  fill(kept)
  fill(plain)
  turn(kept)
  turn(plain)
  local a, b, ends = {}, {}, C.pg_cpu_seconds() + seconds
  repeat
    a[#a + 1], b[#b + 1] = turn(kept), turn(plain)
  until C.pg_cpu_seconds() > ends
  print(("%.2f %.2f"):format(median(a), median(b)))
end

local function go_on()
  local t = new_table()
  keep.records(item(t))
  fill(t)
  keep.leave()
  keep.use(NAME)
  local other = new_table()
  local function find(i)
    keys[0] = i
    return other:find(keys)
  end
  local before = C.pg_cpu_seconds()
  keep.records(item(other))
  assert(find(flows) ~= 0)
  local first = C.pg_cpu_seconds() - before
  before = C.pg_cpu_seconds()
  for i = 1, SOME do assert(find(math.floor(flows / SOME * i)) ~= 0) end
  local found = (C.pg_cpu_seconds() - before) / SOME
  before = C.pg_cpu_seconds()
  for i = 1, SOME do assert(find(flows + i) == 0) end
  local missed = (C.pg_cpu_seconds() - before) / SOME
  before = C.pg_cpu_seconds()
  repeat outside.tend(0) until #tree.names(keep.folder(NAME)) == 1
  print(("%.6f %.6f %.9f %.9f"):format(first, first + C.pg_cpu_seconds() - before,
    found, missed))
  assert(other:count() == flows)
end

packet.free(packet.allocate()) -- DPDK is started, whose threads make large pages
keep.use(NAME)
local ok, problem = pcall(what == "use" and use or go_on)
local folder = keep.folder(NAME)
keep.leave()
tree.remove(folder)
if not ok then error(problem, 0) end

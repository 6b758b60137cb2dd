-- SPDX-License-Identifier: Apache-2.0
-- perigee run bench/lua/lwaftr.lua CONF SECONDS: an lwAFTR between DPDK's ports 0
-- (internet) and 1 (B4s), for so many seconds of CPU time. Prints what
-- bench/native/lwaftr.c prints: packets received, CPU seconds, TSC Hz.
--
-- perigee run bench/lua/lwaftr.lua CONF SECONDS CPU [CPU]: one on each of these CPUs,
-- with two ports each. Prints for each what bench/lua/cores.lua prints: packets,
-- seconds, CPU seconds, TSC Hz.
--
-- perigee run bench/lua/lwaftr.lua CONF table FILE: write the softwires of CONF to
-- FILE, as bench/native/lwaftr.c reads them.

local ffi = require("ffi")
local Binding = require("apps.lwaftr.binding")
local C = require("core.native")
local Port = require("apps.port.port").Port
local graph = require("apps.lwaftr.graph")
local pool = require("core.pool")
local reader = require("apps.lwaftr.conf_reader")
local workers = require("core.cpus.workers")

local WARM_UP_SECONDS = 0.5
local BREATHS = 25 -- between looks at the clock
local PACKETS = 65536 -- net_pcap keeps those of its files in the pool

local function write_table(conf, path)
  local list, n = conf.softwire_config.binding_table.softwires:list()
  local file = assert(io.open(path, "wb"))
  file:write(ffi.string(list, n * ffi.sizeof(list[0])))
  file:close()
end

-- As many packets as net_pcap wants before it begins.
local function fill_pool()
  pool.create()
  while C.pg_pool_room(pool.freelist.pool) < PACKETS do assert(pool.grow()) end
end

-- An lwAFTR between the ports `first` and the next, on `cpu` (nil: the main thread's).
local function add(c, conf, binding, first, cpu)
  local suffix = first == 0 and "" or "_" .. first
  local nic4, nic6 = "nic4" .. suffix, "nic6" .. suffix
  config.app(c, nic4, Port, first)
  config.app(c, nic6, Port, first + 1)
  local names = graph.add(c, conf, {binding = binding, suffix = suffix,
    v4 = {nic4 .. ".output", nic4 .. ".input"},
    v6 = {nic6 .. ".output", nic6 .. ".input"}})
  if not cpu then return end
  for _, name in ipairs(names) do config.cpu(c, name, cpu) end
  config.cpu(c, nic4, cpu)
  config.cpu(c, nic6, cpu)
end

-- Run for so many seconds of CPU time; how many it were.
local function run(seconds)
  local began, breaths = C.pg_cpu_seconds(), 0
  engine.main{no_report = true, done = function ()
    breaths = breaths + 1
    return breaths % BREATHS == 0 and C.pg_cpu_seconds() - began >= seconds
  end}
  return C.pg_cpu_seconds() - began
end

local function carried()
  local n4, n6 = engine.app_table.nic4.port, engine.app_table.nic6.port
  return tonumber(n4.rxpackets + n6.rxpackets), tonumber(n4.txpackets + n6.txpackets)
end

local function measure(seconds)
  run(WARM_UP_SECONDS)
  local received, sent = carried()
  local cpu = run(seconds)
  local received_now, sent_now = carried()
  received, sent = received_now - received, sent_now - sent
  if sent < 0.95 * received then
    error(("%d of %d packets were lost"):format(received - sent, received))
  end
  print(("%d %.6f %d"):format(received, cpu, tonumber(C.pg_tsc_hz())))
end

local function measure_workers(seconds, cpus)
  engine.main{duration = WARM_UP_SECONDS, no_report = true}
  local before, began = workers.report().cpus, C.pg_monotonic()
  engine.main{duration = seconds, no_report = true}
  local now, ended = workers.report().cpus, C.pg_monotonic()
  for _, cpu in ipairs(cpus) do
    local a, b = before[cpu], now[cpu]
    print(("%d %.6f %.6f %d"):format(b.packets - a.packets, ended - began,
      b.seconds - a.seconds, tonumber(C.pg_tsc_hz())))
  end
end

local function main(path, what, ...)
  local conf = reader.file(path)
  if what == "table" then return write_table(conf, ...) end
  local c, cpus = config.new(), {}
  for i, cpu in ipairs{...} do cpus[i] = tonumber(cpu) end
  local binding = Binding.new(conf.softwire_config.binding_table.softwires)
  fill_pool()
  if #cpus == 0 then add(c, conf, binding, 0) end
  for i, cpu in ipairs(cpus) do add(c, conf, binding, 2 * (i - 1), cpu) end
  engine.busywait = true
  engine.configure(c)
  if #cpus == 0 then return measure(tonumber(what)) end
  measure_workers(tonumber(what), cpus)
end

main(...)

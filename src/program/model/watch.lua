-- SPDX-License-Identifier: Apache-2.0
-- Runs a program with known work put behind each of its ports, and says what a packet
-- takes: `perigee model watch CYCLES SECONDS PROGRAM ARGS`, for program.model.check.

local cjson = require("cjson")
local C = require("core.native")
local Cycles = require("apps.load.cycles").Cycles
local cycles_report = require("core.watch.cycles_report")
local engine = require("core.app")
local failure = require("core.failure")
local instrument = require("program.model.instrument")
local pool = require("core.pool")

local M = {}

local WARM_UP = 0.3 -- of the time
local TAX_ADDITIONS, TAX_CALLS = 3000, 20000

--- CPU time a cycle of work takes here: more than 1, as interrupts are in it.
function M.tax()
  local cpu = C.pg_thread_cpu_seconds()
  for _ = 1, TAX_CALLS do C.pg_spin(TAX_ADDITIONS) end
  cpu = (C.pg_thread_cpu_seconds() - cpu) * tonumber(C.pg_tsc_hz()) / TAX_CALLS
  return cpu / C.pg_spin_cycles(TAX_ADDITIONS)
end

local function tell(run, cycles, seconds)
  local function sample()
    return {cpu = C.pg_thread_cpu_seconds(), tsc = tonumber(C.pg_tsc()),
            packets = tonumber(pool.freelist.received)}
  end
  run(seconds * WARM_UP)
  local before, breaths = sample(), tonumber(engine.breaths.c)
  run(seconds)
  local now, hz = sample(), tonumber(C.pg_tsc_hz())
  local packets = now.packets - before.packets
  if packets == 0 then failure.raise("no packets came in") end
  local spent = cycles_report.since() or {}
  io.write(cjson.encode{
    done = true, load = cycles, packets = packets, tsc_hz = hz,
    core_per_tsc = C.pg_core_per_tsc(), tax = M.tax(),
    cycles = (now.cpu - before.cpu) * hz / packets,
    rate = packets * hz / (now.tsc - before.tsc),
    batch = packets / (tonumber(engine.breaths.c) - breaths),
    receive = spent.receive, send = spent.send, task = spent.task,
    engine = spent.engine, empty = spent.empty, tasks = spent.tasks}, "\n")
end

--- Run with the load behind each port, and write a line of JSON.
function M.run(cycles, seconds, program, args)
  instrument.run(program, args, seconds, function (c)
    if cycles == 0 then return c end
    return instrument.behind_ports(c, Cycles, function () return cycles end)
  end, function (run) tell(run, cycles, seconds) end)
end

return M

-- SPDX-License-Identifier: Apache-2.0
-- Runs a program with known work put behind each of its ports, and tells what a packet
-- takes: `perigee model watch CYCLES SECONDS PROGRAM ARGS`, for program.model.check.

local cjson = require("cjson")
local C = require("core.native")
local config = require("core.config")
local Cycles = require("apps.load.cycles").Cycles
local cycles_report = require("core.engine.cycles.report")
local engine = require("core.app")
local failure = require("core.failure")
local main = require("core.main")
local pool = require("core.pool")

local M = {}

local WARM_UP = 0.3 -- of the time
local TAX_ADDITIONS, TAX_CALLS = 3000, 20000

-- A configuration with a load behind each port, if there is one; and how many ports
-- packets come from.
local function loaded(c, cycles)
  local new = config.new()
  for name, app in pairs(c.apps) do config.app(new, name, app.class, app.arg) end
  local n = 0
  for spec in pairs(c.links) do
    local from, output = config.parse_link(spec)
    local is_port = c.apps[from].class.direct
    if is_port then n = n + 1 end
    if is_port and cycles > 0 then
      local name = "model_load_" .. from .. "_" .. output
      config.app(new, name, Cycles, cycles)
      config.link(new, ("%s.%s -> %s.input"):format(from, output, name))
      config.link(new, (spec:gsub("^.-%->", name .. ".output ->")))
    else
      config.link(new, spec)
    end
  end
  return new, n
end

-- CPU time a cycle of work takes here: more than 1, as interrupts are in it.
local function tax()
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
    core_per_tsc = C.pg_core_per_tsc(), tax = tax(),
    cycles = (now.cpu - before.cpu) * hz / packets,
    rate = packets * hz / (now.tsc - before.tsc),
    batch = packets / (tonumber(engine.breaths.c) - breaths),
    receive = spent.receive, send = spent.send, task = spent.task,
    engine = spent.engine, empty = spent.empty, tasks = spent.tasks}, "\n")
end

--- Run with the load, and write a line of JSON.
function M.run(cycles, seconds, program, args)
  local configure, run, ports = engine.configure, engine.main, 0
  function engine.configure(c)
    local new
    new, ports = loaded(c, cycles)
    configure(new)
  end
  function engine.main(options)
    if ports == 0 then
      failure.raise("%s has no port whose packets could be counted", program)
    end
    engine.busywait = true
    local done = options and options.done
    tell(function (duration)
      local ends = C.pg_monotonic() + duration
      run{no_report = true, done = function ()
        if done and done() then
          failure.raise("%s ended too soon; let it run for %g seconds", program,
            seconds)
        end
        return C.pg_monotonic() >= ends
      end}
    end, cycles, seconds)
    main.exit(0)
  end
  main.launch(program, args)
  failure.raise("%s ended without starting the engine", program)
end

return M

-- SPDX-License-Identifier: Apache-2.0
-- perigee run bench/lua/click.lua FILE SECONDS [WARM-UP]: runs the Click configuration
-- for so many seconds of CPU time, as the reference does: on a machine that others use,
-- little of so much wall time is left to compile in. Prints what bench/native/click.c
-- prints: packets received by all ports, CPU seconds, TSC Hz. Before that it runs for
-- WARM-UP seconds (0.3).

local C = require("core.native")
local errors = require("click.errors")
local language = require("click.language")
local pool = require("core.pool")
local registry = require("click.registry")
local router = require("click.router.router")

local WARM_UP_SECONDS = 0.3
local TURNS = 64 -- between looks at the clock

local function main(path, seconds, warm_up)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  local problems = errors.to_stderr()
  local flat = language.read{text = text, file = path, errors = problems,
                             class_of = registry.find}
  local r = flat and router.new(flat, {errors = problems})
  if not r then os.exit(1) end
  engine.busywait = true
  r:activate()
  local ends, turns = 0, 0
  local function turn()
    r:turn()
    turns = turns + 1
    return r:has_ended() or turns % TURNS == 0 and C.pg_cpu_seconds() >= ends
  end
  local function go(duration)
    ends = C.pg_cpu_seconds() + duration
    engine.main{no_report = true, done = turn}
  end
  go(tonumber(warm_up) or WARM_UP_SECONDS)
  local packets, cpu = pool.freelist.received, C.pg_cpu_seconds()
  go(tonumber(seconds))
  packets = tonumber(pool.freelist.received - packets)
  print(("%d %.6f %d"):format(packets, C.pg_cpu_seconds() - cpu,
    tonumber(C.pg_tsc_hz())))
end

main(...)

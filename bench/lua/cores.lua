-- SPDX-License-Identifier: Apache-2.0
-- perigee run bench/lua/cores.lua WHAT CPU CPU SECONDS: a null port's packets over one
-- or two workers. WHAT: ring (received on one CPU, sent on the other), or one or two
-- (as many workers, each with a queue, and 200 cycles of work a packet).
-- Prints for each worker: packets, seconds, CPU seconds, TSC Hz.

local C = require("core.native")
local Cycles = require("apps.load.cycles").Cycles
local Port = require("apps.port.port").Port
local workers = require("core.cpus.workers")

local WARM_UP_SECONDS, WORK_CYCLES = 0.3, 200

local function graph(what, first, second)
  local c = config.new()
  config.app(c, "port", Port, "null")
  if what == "ring" then
    config.app(c, "out", Port, "null")
    config.link(c, "port.output -> out.input")
    config.cpu(c, "port", first)
    config.cpu(c, "out", second)
    return c
  end
  config.app(c, "work", Cycles, WORK_CYCLES)
  config.link(c, "port.output -> work.input")
  config.link(c, "work.output -> port.input")
  config.replicate(c, {"port", "work"}, what == "one" and {first} or {first, second})
  return c
end

local function main(what, first, second, seconds)
  engine.configure(graph(what, tonumber(first), tonumber(second)))
  engine.busywait = true
  engine.main{duration = WARM_UP_SECONDS, no_report = true}
  local before, began = workers.report().cpus, C.pg_monotonic()
  engine.main{duration = tonumber(seconds), no_report = true}
  local now, ended = workers.report().cpus, C.pg_monotonic()
  for _, cpu in ipairs{tonumber(first), tonumber(second)} do
    local a, b = before[cpu], now[cpu]
    if a then
      print(("%d %.6f %.6f %d"):format(b.packets - a.packets, ended - began,
        b.seconds - a.seconds, tonumber(C.pg_tsc_hz())))
    end
  end
end

main(...)

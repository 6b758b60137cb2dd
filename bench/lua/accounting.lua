-- SPDX-License-Identifier: Apache-2.0
-- perigee run bench/lua/accounting.lua LENGTH BURST PAIRS SECONDS: a null port's
-- packets through a chain of Fwd apps, in turn with the account of cycles and without.
-- Prints for each pair the cycles of CPU time a packet, with and without.

local C = require("core.native")
local Fwd = require("apps.fwd.fwd").Fwd
local Port = require("apps.port.port").Port

local WARM_UP_SECONDS = 0.5

local function cycles_of(device, counted, seconds)
  engine.count_cycles = counted
  local packets, cpu = device.txpackets, C.pg_thread_cpu_seconds()
  engine.main{duration = seconds, no_report = true}
  return (C.pg_thread_cpu_seconds() - cpu) * tonumber(C.pg_tsc_hz())
    / tonumber(device.txpackets - packets)
end

local function main(length, burst, pairs_wanted, seconds)
  local c = config.new()
  config.app(c, "port", Port, {port = "null", burst = tonumber(burst)})
  local from = "port"
  for i = 1, tonumber(length) do
    config.app(c, "fwd" .. i, Fwd)
    config.link(c, ("%s.output -> fwd%d.input"):format(from, i))
    from = "fwd" .. i
  end
  config.link(c, ("%s.output -> port.input"):format(from))
  engine.configure(c)
  engine.busywait = true
  local device = engine.app_table.port.port
  cycles_of(device, true, WARM_UP_SECONDS)
  for i = 1, tonumber(pairs_wanted) do
    local first = cycles_of(device, i % 2 == 0, tonumber(seconds))
    local second = cycles_of(device, i % 2 == 1, tonumber(seconds))
    local with, without = first, second
    if i % 2 == 1 then with, without = second, first end
    print(("%.3f %.3f"):format(with, without))
  end
end

main(...)

-- SPDX-License-Identifier: Apache-2.0
-- perigee run bench/lua/steady.lua KIND HISTORY SECONDS: a null port's packets pass
-- an app that sends them one of two ways, an app on that way and one where the ways
-- join, and go back. Prints packets, CPU seconds, TSC Hz, as bench/lua/chain.lua.
--
-- KIND: fused (process(p)), or links (push()).
-- HISTORY, what comes before the measurement: "none" (packets go the second way from
-- the start), "moved" (half a second the first way, then the second), "reconfigured"
-- (20 changes under load, of an app on the way), "slow" (100,000 calls of functions
-- that aren't meant for packets).

local C = require("core.native")
local Port = require("apps.port.port").Port

local FIRST_SECONDS, WARM_UP_SECONDS, CHANGES, CALLS = 0.5, 0.2, 20, 100000

local function class(process)
  local c = {process = process}
  c.__index = c
  function c:new() return setmetatable({way = 2}, self) end
  return c
end

local Split = class(function (self, p) return p, self.way end)
Split.outputs = {"first", "second"}
local First = class(function (_, p) p.data[0] = 1; return p end)
local Second = class(function (_, p) p.data[1] = 2; return p end)
local Join = class(function (_, p) return p end)

local function graph(extra)
  local c = config.new()
  config.app(c, "port", Port, "null")
  for name, app in pairs{split = Split, a = First, b = Second, join = Join} do
    config.app(c, name, app)
  end
  for _, spec in ipairs{"port.output -> split.input", "split.first -> a.input",
                        "split.second -> b.input", "a.output -> join.a",
                        "b.output -> join.b"} do
    config.link(c, spec)
  end
  if extra then
    config.app(c, "extra", Join)
    config.link(c, "join.output -> extra.input")
    config.link(c, "extra.output -> port.input")
  else
    config.link(c, "join.output -> port.input")
  end
  return c
end

local function run(seconds)
  engine.main{duration = seconds, no_report = true}
end

local histories = {}

function histories.none() end

function histories.moved()
  engine.app_table.split.way = 1
  run(FIRST_SECONDS)
  engine.app_table.split.way = 2
end

function histories.reconfigured()
  for i = 1, CHANGES do
    run(FIRST_SECONDS / CHANGES)
    engine.configure(graph(i % 2 == 1))
  end
end

function histories.slow()
  local l = engine.app_table.port.output.output
  for i = 1, CALLS do
    packet.free(packet.from_string(("%060d"):format(i)))
    link.stats(l)
  end
end

local function main(kind, history, seconds)
  engine.fuse = kind == "fused"
  engine.configure(graph(false))
  engine.busywait = true
  histories[history]()
  run(WARM_UP_SECONDS)
  local device = engine.app_table.port.port
  local packets, cpu = device.txpackets, C.pg_cpu_seconds()
  run(tonumber(seconds))
  print(("%d %.6f %d"):format(tonumber(device.txpackets - packets),
    C.pg_cpu_seconds() - cpu, tonumber(C.pg_tsc_hz())))
end

main(...)

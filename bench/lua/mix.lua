-- SPDX-License-Identifier: Apache-2.0
-- perigee run bench/lua/mix.lua KIND PORT SECONDS: packets that come from PORT are
-- checked, told apart by IP protocol, marked (DSCP), and sent to three ports.
-- KIND: fused, or links, the same apps each by itself between links. Prints what
-- bench/native/mix.c prints: packets received, CPU seconds, TSC Hz.

local C = require("core.native")
local Port = require("apps.port.port").Port

local WARM_UP_SECONDS = 0.3

local TYPE_HIGH, TYPE_LOW, VERSION, DSCP, PROTOCOL = 12, 13, 14, 15, 23
local HEADERS = 34
local TCP, UDP = 6, 17

local Check = {drops = {"short", "not_ipv4", "bad_version"}}

function Check.process(_, p)
  if p.length < HEADERS then return nil, 1 end
  local data = p.data
  if data[TYPE_HIGH] ~= 8 or data[TYPE_LOW] ~= 0 then return nil, 2 end
  if data[VERSION] ~= 0x45 then return nil, 3 end
  return p
end

local Classify = {outputs = {"tcp", "udp", "other"}}

function Classify.process(_, p)
  local protocol = p.data[PROTOCOL]
  if protocol == TCP then return p, 1 end
  if protocol == UDP then return p, 2 end
  return p, 3
end

local Mark = {}

function Mark:process(p)
  p.data[DSCP] = self.value
  return p
end

for _, class in ipairs{Check, Classify, Mark} do
  class.__index = class
  function class:new(value) return setmetatable({value = value}, self) end
end

local function graph(port)
  local c = config.new()
  config.app(c, "source", Port, port)
  config.app(c, "check", Check)
  config.app(c, "classify", Classify)
  config.link(c, "source.output -> check.input")
  config.link(c, "check.output -> classify.input")
  for i, name in ipairs(Classify.outputs) do
    config.app(c, "mark_" .. name, Mark, 8 * i)
    config.app(c, name, Port, "null")
    config.link(c, ("classify.%s -> mark_%s.input"):format(name, name))
    config.link(c, ("mark_%s.output -> %s.input"):format(name, name))
  end
  return c
end

local function main(kind, from, seconds)
  engine.fuse = kind == "fused"
  engine.busywait = true
  engine.configure(graph(from))
  local port = engine.app_table.source.port
  engine.main{duration = WARM_UP_SECONDS, no_report = true}
  local packets, cpu = port.rxpackets, C.pg_cpu_seconds()
  engine.main{duration = tonumber(seconds), no_report = true}
  print(("%d %.6f %d"):format(tonumber(port.rxpackets - packets),
    C.pg_cpu_seconds() - cpu, tonumber(C.pg_tsc_hz())))
end

main(...)

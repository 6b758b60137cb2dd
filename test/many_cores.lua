-- SPDX-License-Identifier: Apache-2.0
-- perigee run test/many_cores.lua SHAPE PACKETS FLOWS [CHANGE]: numbered packets of
-- many flows through apps to a sink that checks them. Prints packets, the sum of their
-- CRCs, those out of order in their flow and those missing, and the packets unaccounted
-- for. SHAPE: one (thread), two (CPUs, joined by a ring), or copies (handed out by
-- flow). With CHANGE the graph changes ten times a second meanwhile.

local C = require("core.native")
local account = require("core.engine.account")
local affinity = require("core.cpus.affinity")
local workers = require("core.cpus.workers")
local testing = require("testing.flows")

local shape, packets, flows, reconfigure = ...
packets, flows = tonumber(packets), tonumber(flows)
local cpus = affinity.cpus()
local first, second = cpus[1], cpus[2] or cpus[1]

local function graph(round)
  local c = config.new()
  config.app(c, "source", testing.Flows, {packets = packets, flows = flows})
  config.app(c, "a", testing.Pass, shape == "copies" and 0 or round)
  config.app(c, "check", testing.Check, {flows = flows})
  config.link(c, "source.output -> a.input")
  config.link(c, "a.output -> check.input")
  if round % 2 == 1 then -- another app, which comes and goes
    config.app(c, "idle", testing.Pass, round)
    if shape ~= "one" then config.cpu(c, "idle", second) end
  end
  if shape == "two" then
    for app, cpu in pairs{source = first, a = first, check = second} do
      config.cpu(c, app, cpu)
    end
  elseif shape == "copies" then
    config.cpu(c, "source", first)
    config.cpu(c, "check", first)
    config.replicate(c, {"a"}, {first, second})
  end
  return c
end

local rounds = 0
engine.configure(graph(0))
local give_up = C.pg_monotonic() + 120
while testing.counted("check", "received") < packets and C.pg_monotonic() < give_up do
  local ends = C.pg_monotonic() + 0.1
  engine.main{no_report = true, no_timers = true, done = function ()
    return C.pg_monotonic() > ends
      or testing.counted("check", "received") >= packets
  end}
  if reconfigure then
    rounds = rounds + 1
    engine.configure(graph(rounds))
  end
end
local now = account.packets(engine.link_table, workers.report().in_links)
print(("%d %d %d %d %d"):format(testing.counted("check", "received"),
  testing.counted("check", "sum"), testing.counted("check", "mixed_up"),
  testing.counted("check", "lost"), now.held + now.in_links + now.in_rings))
io.stderr:write(("changed %d times\n"):format(rounds))

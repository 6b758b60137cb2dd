-- SPDX-License-Identifier: Apache-2.0
-- Graphs of basic apps, loads and test apps.

local basic = require("apps.basic.basic_apps")
local Fwd = require("apps.fwd.fwd").Fwd
local Port = require("apps.port.port").Port
local run = require("doctor.run")
local traffic = require("doctor.traffic")

local Once = traffic.Once
local graphs = {}

function graphs.basic()
  run({source = {basic.Source}, tee = {basic.Tee}, split = {basic.Split},
       join = {basic.Join}, truncate = {basic.Truncate, 100},
       sample = {basic.Sample, 3}, sink = {basic.Sink}, lone = {basic.Sink}},
    {"source.output -> tee.input", "source.o2 -> tee.i2", "tee.a -> split.input",
     "tee.b -> truncate.input", "tee.c -> split.i2", "split.a -> join.a",
     "split.b -> join.b", "truncate.output -> sample.input", "sample.output -> sink.x",
     "join.output -> sink.y", "source.o3 -> lone.input"})
end

function graphs.repeater()
  run({once = {Once}, again = {basic.Repeater}, sink = {basic.Sink}},
    {"once.output -> again.input", "again.output -> sink.input"})
end

-- Apps without outputs, whose packets go nowhere.
function graphs.ends()
  run({source = {basic.Source}, tee = {basic.Tee}, split = {basic.Split},
       join = {basic.Join}, fwd = {Fwd}},
    {"source.a -> tee.input", "source.b -> split.input", "source.c -> join.input",
     "source.d -> fwd.input", "source.e -> join.i2"})
end

function graphs.fwd()
  run({nic = {Port, "null"}, a = {Fwd}, b = {Fwd}, sink = {basic.Sink}},
    {"nic.output -> a.input", "a.output -> b.input", "b.output -> sink.input"})
end

-- Apps that make a packet cost something.
function graphs.load()
  run({source = {basic.Source}, sink = {basic.Sink},
       cycles = {require("apps.load.cycles").Cycles, 200},
       memory = {require("apps.load.memory").Memory, {bytes = 2^20, accesses = 3}}},
    {"source.output -> cycles.input", "cycles.output -> memory.input",
     "memory.output -> sink.input"})
end

-- Apps for tests: two like streams, one of them through apps that hold
-- packets up. Tables of what they do go to the directory.
function graphs.tests(directory)
  local Synth = require("apps.test.synth").Synth
  local synth = {Synth, {sizes = {64, 590, 1514}, packet_id = true}}
  run({a = synth, b = synth, match = {require("apps.test.match").Match, {}},
       later = {require("apps.test.delayed_start").Delayed_start, 0},
       some = {require("apps.test.npackets").Npackets, {npackets = 1e15}},
       csv = {require("apps.csv").CSV, directory}},
    {"a.output -> later.input", "later.output -> some.input", "some.output -> match.rx",
     "b.output -> match.comparator"})
end

return graphs

-- SPDX-License-Identifier: Apache-2.0
-- Graphs of ports and savefiles.

local basic = require("apps.basic.basic_apps")
local Fwd = require("apps.fwd.fwd").Fwd
local Port = require("apps.port.port").Port
local run = require("doctor.run")
local traffic = require("doctor.traffic")

local Frames, Once = traffic.Frames, traffic.Once
local graphs = {}

-- Of a class of ports: what comes from `there` goes back to it.
local function echo(class, arg)
  run({nic = {class, arg}, fwd = {Fwd}}, {"nic.output -> fwd.input",
                                          "fwd.output -> nic.input"})
end

function graphs.reader(file)
  run({from = {require("apps.pcap.pcap").PcapReader, file}, sink = {basic.Sink}},
    {"from.output -> sink.input"})
end

function graphs.replayer(file, key, value)
  local arg = {filename = file, loops = math.huge, [key] = tonumber(value)}
  run({from = {require("apps.pcap.replayer").Replayer, arg}, sink = {basic.Sink}},
    {"from.output -> sink.input"})
end

function graphs.writer(format)
  local arg = {"/dev/null", "w", format = format}
  run({nic = {Port, "null:size=200"}, to = {require("apps.pcap.pcap").PcapWriter, arg}},
    {"nic.output -> to.input"})
end

function graphs.port(arg) echo(Port, arg) end

function graphs.ring()
  run({frames = {Frames}, one = {Port, "ring:doctor"}, two = {Port, "ring:doctor"},
       sink = {basic.Sink}},
    {"frames.output -> one.input", "two.output -> sink.input"})
end

-- Classes by Snabb's names of drivers, with a null port in the card's place.
function graphs.card(module, class, arg)
  echo(require(module)[class], loadstring("return " .. arg)())
end

function graphs.loadgen(address)
  run({once = {Once}, fwd = {Fwd},
       gen = {require("apps.intel_mp.loadgen").LoadGen, address}},
    {"once.output -> fwd.input", "fwd.output -> gen.input"})
end

-- Frames out by one kernel interface, in by another.
function graphs.wire(module, class, from, to)
  local kind = require(module)[class]
  run({frames = {Frames}, from = {kind, loadstring("return " .. from)()},
       to = {kind, loadstring("return " .. to)()}, sink = {basic.Sink}},
    {"frames.output -> from.input", "to.output -> sink.input"})
end

function graphs.tap()
  run({frames = {Frames}, tap = {require("apps.tap.tap").Tap, "t0"}},
    {"frames.output -> tap.input"})
end

return graphs

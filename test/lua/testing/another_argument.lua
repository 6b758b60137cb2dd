-- SPDX-License-Identifier: Apache-2.0
-- For snabb/apps/another_argument_spec.lua: how each class of doc/app-list.md's table
-- is made to count, and how what stays of it is read. A case has
--
--   before, after     arguments, or functions that return them
--   run(app)          work; `counts`: after that, something is counted
--   inputs, outputs   names of links ("input", "output"); links: more of them
--   stays, anew       functions that read what the page calls so
--   fresh             the argument of another app of the class, which shows what a new
--                     one has, where that isn't `after`
--   random            items of `stays` that are random in a new one
--   anew_after        a third argument, with which items of `lost` don't stay

local ffi = require("ffi")
local frames = require("testing.argument_frames")
local link = require("core.link")
local packet = require("core.packet")
local savefiles = require("testing.savefiles")

local sends = frames.sends

local M = {cases = {}, packets = savefiles.packets}
local cases = M.cases

-- Files -----------------------------------------------------------------------------

local paths = {}

--- The path of a file that remove_files() removes.
function M.path()
  paths[#paths + 1] = os.tmpname()
  return paths[#paths]
end

function M.remove_files()
  for i, path in ipairs(paths) do
    os.remove(path)
    paths[i] = nil
  end
  M.file = nil
end

-- The same one for all arguments of a case.
local function the_file()
  M.file = M.file or M.path()
  return M.file
end

local function saved()
  local host = savefiles.order(ffi.abi("le") and "little" or "big")
  local parts = {host:pcap_header()}
  for i = 1, 10 do parts[i + 1] = host:record(("%04d"):format(i):rep(15)) end
  if not M.file then savefiles.save(the_file(), table.concat(parts)) end
  return the_file()
end

--- The argument, which may be a function that makes it.
function M.argument(arg)
  if type(arg) == "function" then return arg() end
  return arg
end

local function field(name)
  return function (app) return app[name] end
end

-- Basic apps, tests ----------------------------------------------------------------

local function case(name, t) cases[name] = t end
local function basic(name, t) case("apps.basic.basic_apps." .. name, t) end

basic("Source", {before = 60, after = 61, inputs = {}})
for _, name in ipairs{"Sink", "Join", "Split", "Tee"} do
  basic(name, {before = 1, after = 2, run = sends("input", "x"),
               outputs = name == "Sink" and {} or nil})
end
basic("Repeater", {before = 1, after = 2, run = sends("input", "x", "y"), stays = {
  ["the packets it repeats"] = function (app) return #app.packets end}})
basic("Truncate", {before = 60, after = 61, run = sends("input", "x")})
basic("Sample", {before = 3, after = 4, run = sends("input", "x"), counts = true,
  stays = {["how many packets have passed"] = field("seen")}})
case("apps.fwd.fwd.Fwd", {before = 1, after = 2, run = sends("input", "x")})

case("apps.test.synth.Synth", {before = {sizes = {64}, packet_id = true},
  after = {sizes = {70}, packet_id = true}, inputs = {}, stays = {
  ["the numbers of packets"] = function (app) return app.sent[1] end}})
case("apps.test.npackets.Npackets", {before = {npackets = 3}, after = {npackets = 4},
  run = sends("input", "x"), anew = {["the count"] = field("n")}})
case("apps.test.delayed_start.Delayed_start", {before = 100, after = 50,
  stays = {["the time when it was started"] = field("began")}})

case("apps.load.cycles.Cycles", {before = 0, after = 1, run = sends("input", "x")})
case("apps.load.memory.Memory", {before = {bytes = 1024, accesses = 1},
  after = {bytes = 1024, accesses = 2}, run = sends("input", "x"),
  stays = {["the same list"] = function (app) return tostring(app.list) end}})

-- Files, traffic --------------------------------------------------------------------

local function contents(app)
  return savefiles.load(app.file.path or app.file.output.path):sub(1, 150)
end

case("apps.pcap.pcap.PcapWriter", {
  before = function () return {filename = the_file(), limit = 2} end,
  after = function () return {filename = the_file(), limit = 3} end,
  fresh = function () return {filename = M.path()} end,
  outputs = {}, run = sends("input", ("x"):rep(60)), counts = true,
  stays = {["the file, as long as only `limit` changes"] = contents}})
case("apps.pcap.tap.Tap", {
  before = function () return {filename = the_file(), sample = 2} end,
  after = function () return {filename = the_file(), sample = 3} end,
  fresh = function () return {filename = M.path()} end,
  run = sends("input", ("x"):rep(60)), stays = {["the same file"] = contents}})
local function reads(limit, more)
  return function () return {filename = saved(), limit = limit, packet_rate = more} end
end
case("apps.pcap.replayer.Replayer", {before = reads(3), after = reads(5, 1e6),
  inputs = {}, counts = true,
  stays = {["its position in the same file"] = field("packets")}})
case("apps.pcap.looper.Looper", {before = reads(3), after = reads(5), inputs = {},
  counts = true, stays = {["its position in the same file"] = field("packets")}})

local FLOWS = {"ip4Src=10.0.0.1..10.0.0.200"}
case("apps.generate.generator.Generator", {before = {count = 5, set = FLOWS},
  after = {count = 9, set = FLOWS, rate = "1Gbit/s"}, inputs = {},
  anew_after = {count = 12, size = 200},
  stays = {
    ["what it has sent"] = function (app) return (app:progress()) end,
    ["the numbers of the same stream"] = function (app) return app.state.number end,
  },
  anew = {["values of fields, unless only rate and count change"] = function (app)
    return app.state.turns[0]
  end}})
case("apps.generate.meter.Meter", {before = {offset = 0}, after = {offset = 1},
  run = function (app)
    local probe = require("lib.traffic.probe")
    local p = packet.resize(packet.allocate(), 60)
    if probe.write then probe.write(p.data, 0, 0ULL) end
    link.transmit(app.input.input, p)
  end,
  stays = {
    ["what it has received"] = function (app) return (app:progress()) end,
    ["the numbers of the same stream"] = function (app)
      return tostring(app.sequence)
    end,
  }})

require("testing.argument_protocols")(case, field)

--- Folders and classes of which the page has a sentence of its own.
M.others = {port = true, tap = true, socket = true, xdp = true, vhost = true,
  virtio_net = true, interlink = true, dpdk_device = true, intel = true,
  intel_mp = true, intel_avf = true, mellanox = true, solarflare = true, csv = true,
  vtep = true, click = true, connect = true, PcapReader = true, Match = true,
  TwoSides = true, record = true, rewrite = true}

--- Classes that the page says are made anew.
M.made_anew = {"apps.interlink.receiver", "apps.interlink.transmitter",
  "apps.pcap.pcap.PcapReader", "apps.csv.CSV", "apps.test.match.Match",
  "apps.connect.endpoint.Client", "apps.connect.endpoint.Server",
  "apps.record.recorder.Recorder",
  "apps.rewrite.rewriter.Rewriter"}

--- Is the counter of that name a value, which a change may make smaller?
function M.is_value(name)
  return name:find("^memuse%-") or name:find("^next%-hop%-") or name == "status"
end

return M

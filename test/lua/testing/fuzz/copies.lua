-- SPDX-License-Identifier: Apache-2.0
-- Runs random routers (testing.fuzz.dividable_routers) on one CPU and, divided, on two,
-- with the same packets, and compares what comes of them.

local Click = require("apps.click.click").Click
local Random = require("testing.fuzz.random")
local Worker = require("core.cpus.worker")
local affinity = require("core.cpus.affinity")
local config = require("core.config")
local copies = require("program.click.copies")
local distribute = require("core.cpus.distribute")
local engine = require("core.app")
local ffi = require("ffi")
local link = require("core.link")
local packet = require("core.packet")
local part = require("apps.click.part")
local routers = require("testing.fuzz.dividable_routers")
local workers = require("core.cpus.workers")

local fuzz = {}

local FRAMES, AT_ONCE, CPUS = 250, 5, 2
local PATIENCE = 120 -- seconds: all of a first breath is compiled, on a busy machine
local DEVICES = {["in"] = "ring:in", out = "ring:out", other = "ring:other"}
local SHARED = {["ring:in"] = 1, ["ring:other"] = 2, ["ring:out"] = 3}
local LEAVING = {other = 2, out = 3} -- outputs txNUMBER

-- Sends the frames of its argument, and ends.
local Feeder = {}
Feeder.__index = Feeder
function Feeder:new(frames) return setmetatable({frames = frames, at = 0}, self) end
function Feeder.ends() return true end
function Feeder:ended() return self.at == #self.frames end

function Feeder:pull()
  local output = self.output.output
  for _ = 1, math.min(#self.frames - self.at, 64, tonumber(link.nwritable(output))) do
    self.at = self.at + 1
    link.transmit(output, packet.from_string(self.frames[self.at]))
  end
end

local Collector = {}
Collector.__index = Collector
function Collector:new() return setmetatable({seen = {}}, self) end

function Collector:push()
  local input = self.input.input
  for _ = 1, link.nreadable(input) do
    local p = link.receive(input)
    table.insert(self.seen, ffi.string(p.data, p.length))
    packet.free(p)
  end
end

-- Random router number `number` of the seed; without `meets` if it can't be divided.
local function make(seed, number)
  local random = Random.new(seed, number)
  local trial = {number = number, random = random}
  trial.text, trial.counters, trial.changes =
    routers.new(function (n) return random:range(1, n) end)
  local router = part.router(trial.text, "it", {devices = DEVICES,
    copy = {number = 0, of = 1, shared = SHARED}}, "trial")
  trial.meets = select(2, copies.problem(router, {}, CPUS))
  router:close()
  return trial
end

local function name_of(trial, n, i) return ("t%d_%d_%d"):format(trial.number, n, i) end

-- The router on n CPUs, with a feeder and two collectors in the main thread.
local function add(c, trial, n)
  local name = ("t%d_%d"):format(trial.number, n)
  config.app(c, name .. "_feed", Feeder, trial.frames)
  config.app(c, name .. "_flows", distribute.Distribute, {by = trial.meets})
  config.link(c, ("%s_feed.output -> %s_flows.input"):format(name, name))
  for device in pairs(LEAVING) do
    config.app(c, name .. device .. "_join", distribute.Join)
    config.app(c, name .. device, Collector)
    local collector = name .. device
    config.link(c, ("%s_join.output -> %s.input"):format(collector, collector))
  end
  for i = 1, n do
    local copy = name_of(trial, n, i)
    config.app(c, copy, Click, {text = trial.text, devices = DEVICES,
      copy = {number = i - 1, of = n, shared = SHARED}})
    config.cpu(c, copy, affinity.cpus()[i])
    config.link(c, ("%s_flows.output%d -> %s.rx1"):format(name, i, copy))
    for device, number in pairs(LEAVING) do
      config.link(c, ("%s.tx%d -> %s%s_join.input%d"):format(copy, number, name, device,
        i))
    end
  end
end

-- What came of it on n CPUs: by device, and what the counters say.
local function result(trial, n)
  local name, found = ("t%d_%d"):format(trial.number, n), {counts = {}}
  for device in pairs(LEAVING) do
    found[device] =
      routers.summary(engine.app_table[name .. device].seen, trial.changes)
  end
  for _, counter in ipairs(trial.counters) do
    local sum = 0
    for i = 1, n do
      sum = sum + tonumber(workers.call(affinity.cpus()[i], "apps.click.click", "read",
        {app = name_of(trial, n, i), handler = counter .. ".count"}).text)
    end
    found.counts[counter] = sum
  end
  return found
end

-- Where two tables differ, as text; or nil.
local function difference(a, b, path)
  if type(a) == "table" and type(b) == "table" then
    for _, pair in ipairs{{a, b}, {b, a}} do
      for key in pairs(pair[1]) do
        local found = difference(a[key], b[key], path .. "." .. key)
        if found then return found end
      end
    end
  elseif a ~= b then
    return ("%s: on one CPU %s, on two %s"):format(path, tostring(a), tostring(b))
  end
end

local function compare(trial)
  local one, two = result(trial, 1), result(trial, CPUS)
  return difference(one.counts, two.counts, "counts") or difference(one, two, "packets")
end

-- Run some at once; those that fail are added to `bad`.
local function run(trials, bad)
  local c = config.new()
  for _, trial in ipairs(trials) do
    local random = trial.random
    trial.frames = routers.frames(function (n) return random:range(1, n) end, FRAMES)
    add(c, trial, 1)
    add(c, trial, CPUS)
  end
  engine.configure(c)
  engine.main{no_report = true, measure_latency = false, done = engine.finished}
  for _, trial in ipairs(trials) do
    trial.problem = compare(trial)
    if trial.problem then bad[#bad + 1] = trial end
  end
end

--- Try routers `first` to `first` + `count` - 1 of the seed on one and two CPUs (there
--- must be two): {divided =, refused = how many}, and a list of those that fail,
--- {number =, text =, problem =}.
function fuzz.run(o)
  local counts, bad, trials = {divided = 0, refused = 0}, {}, {}
  engine.watchdog, Worker.PATIENCE_SECONDS = PATIENCE, PATIENCE
  for number = o.first, o.first + o.count - 1 do
    local trial = make(o.seed, number)
    if trial.meets then
      counts.divided = counts.divided + 1
      trials[#trials + 1] = trial
    else
      counts.refused = counts.refused + 1
    end
    if #trials == AT_ONCE or number == o.first + o.count - 1 and #trials > 0 then
      run(trials, bad)
      trials = {}
    end
    if o.before then o.before(number) end
  end
  engine.stop()
  return counts, bad
end

return fuzz

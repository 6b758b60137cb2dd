-- SPDX-License-Identifier: Apache-2.0
-- Measures one kind of port, in a process of its own: `perigee model measure KIND`.
-- Writes a line of JSON for each thing it knows, for the parent (program.model.table).

local cjson = require("cjson")
local C = require("core.native")
local config = require("core.config")
local Cycles = require("apps.load.cycles").Cycles
local engine = require("core.app")
local failure = require("core.failure")
local fit = require("program.model.fit")
local link = require("core.link")
local packet = require("core.packet")
local Port = require("apps.port.port").Port

local M = {}

local CRC = 4
local BURSTS = {1, 2, 4, 8, 16, 32, 64, 128, 256}
local SIZES = {64, 128, 256, 512, 1024, 1280, 1518} -- bytes with CRC
local QUICK_BURSTS, QUICK_SIZES = {1, 32, 256}, {64, 512, 1518}
local LEAST_TASK = 125
local TASKS = {1, 2, 4, 8} -- times half of what a packet takes, or LEAST_TASK
local CHECKED_TASKS = {0, 50, 150, 350, 700, 900} -- to see what the model is worth
local CHECKED_BURSTS = {32, 128}
local WARM_UP_S = 0.15

-- Gives every packet one length, and takes a few: what goes round is of one size.
local Sizer = {}
Sizer.__index = Sizer
function Sizer:new() return setmetatable({size = 60}, self) end
function Sizer:process(p)
  if p.length ~= self.size then p.length = self.size end
  return p
end

-- Sends so many broadcast frames, once.
local Seed = {}
Seed.__index = Seed
function Seed:new(n) return setmetatable({left = n}, self) end
function Seed:pull()
  local n = math.min(self.left, 64)
  self.left = self.left - n
  for _ = 1, n do
    local p = packet.allocate()
    p.length = 60
    for i = 0, 59 do p.data[i] = i < 6 and 0xff or i == 6 and 2 or 0 end
    p.data[12], p.data[13] = 0x88, 0xb5 -- for experiments (IEEE 802)
    link.transmit(self.output.output, p)
  end
end

local function say(message)
  io.write(cjson.encode(message), "\n")
  io.flush()
end

-- The graphs -----------------------------------------------------------------------

local Bench = {}
Bench.__index = Bench

local function ports(self, c, size)
  local receive = self.kind.receive:gsub("%%s", self.folder)
    :gsub("%%d", tostring(size - CRC))
  config.app(c, "receive", Port, receive)
  if not self.kind.send then return "receive" end
  config.app(c, "send", Port, (self.kind.send:gsub("%%s", self.folder)))
  return "send"
end

-- Put packets on their way, from one end to the other. The end that others connect to
-- is opened first.
function Bench:seed()
  local c = config.new()
  config.app(c, "receive", Port, (self.kind.receive:gsub("%%s", self.folder)))
  engine.configure(c)
  c = config.new()
  local to = ports(self, c, 64)
  config.app(c, "seed", Seed, self.kind.round)
  config.link(c, "seed.output -> " .. to .. ".input")
  engine.configure(c)
  local ends = C.pg_monotonic() + 0.1
  engine.main{no_report = true, done = function () return C.pg_monotonic() > ends end}
end

function Bench:loop(size)
  local c = config.new()
  local to = ports(self, c, size)
  config.app(c, "load", Cycles, 0)
  config.app(c, "sizer", Sizer)
  config.link(c, "receive.output -> load.input")
  config.link(c, "load.output -> sizer.input")
  config.link(c, "sizer.output -> " .. to .. ".input")
  engine.configure(c)
  engine.app_table.sizer.size = size - CRC
end

-- Make the graph for packets of this size.
function Bench:size(size)
  local apps = engine.app_table
  if self.kind.round and apps.sizer then
    apps.sizer.size = size - CRC
  else
    if self.kind.round then self:seed() end
    self:loop(size)
  end
  self:point(0, WARM_UP_S)
end

-- Cycles of CPU time that a packet takes with such a task; 0 packets is an error.
function Bench:point(task, seconds)
  local apps = engine.app_table
  local load, device = apps.load, apps.receive.port
  load.cycles, load.additions = task, 0
  load:track()
  local packets, cpu, tsc = device.rxpackets, C.pg_thread_cpu_seconds(), C.pg_tsc()
  engine.main{duration = seconds, no_report = true}
  local n = tonumber(device.rxpackets - packets)
  cpu, tsc = C.pg_thread_cpu_seconds() - cpu, tonumber(C.pg_tsc() - tsc)
  if n == 0 then
    failure.raise(self.kind.round and "no packet came back from the other end"
      or "no packets came in")
  end
  self.rate = n / tsc * tonumber(C.pg_tsc_hz())
  return cpu * tonumber(C.pg_tsc_hz()) / n
end

-- Measuring ------------------------------------------------------------------------

function Bench:set_burst(burst)
  engine.app_table.receive.port.burst = burst
end

-- One cell of the table: C_IO at a burst and size.
function Bench:cell(burst, size)
  self:set_burst(burst)
  local alone = self:point(0, self.seconds)
  local unit, rounds = math.max(LEAST_TASK, alone / 2), {}
  for r = 1, self.rounds do
    rounds[r] = {{0, self:point(0, self.seconds)}}
    for i, times in ipairs(TASKS) do
      rounds[r][i + 1] = {unit * times, self:point(unit * times, self.seconds)}
    end
  end
  local solved = fit.solve(rounds)
  solved.type, solved.burst, solved.size, solved.rounds = "cell", burst, size, rounds
  say(solved)
  return solved
end

-- Throughput with tasks that the fit hasn't seen.
function Bench:check(cell)
  self:set_burst(cell.burst)
  for _, task in ipairs(CHECKED_TASKS) do
    local all = {}
    for r = 1, self.rounds do all[r] = self:point(task, self.seconds) end
    local cycles = fit.median(all)
    local predicted = cell.slope * (cell.io + task)
    say{type = "check", burst = cell.burst, size = cell.size, task = task,
        cycles = cycles, predicted = predicted, error = cycles / predicted - 1}
  end
end

function Bench:run(bursts, sizes)
  self:size(sizes[1])
  local cells = {}
  for _, burst in ipairs(bursts) do
    if burst <= (self.kind.most or math.huge) then
      cells[burst] = self:cell(burst, sizes[1])
    end
  end
  for _, burst in ipairs(CHECKED_BURSTS) do
    if cells[burst] then self:check(cells[burst]) end
  end
  for i = 2, #sizes do
    self:size(sizes[i])
    self:cell(math.min(32, self.kind.most or 32), sizes[i])
  end
end

local function write_capture(folder)
  local file = assert(io.open(folder .. "/in.pcap", "wb"))
  file:write("\212\195\178\161\2\0\4\0", ("\0"):rep(8), "\255\255\0\0\1\0\0\0")
  for _ = 1, 256 do
    file:write(("\0"):rep(8), "\60\0\0\0\60\0\0\0", ("\0"):rep(60))
  end
  file:close()
end

--- Measure `kind` (program.model.kinds); sockets and files go into `folder`.
function M.run(kind, folder, options)
  if kind.capture then write_capture(folder) end
  engine.busywait, engine.count_cycles = true, false
  local bench = setmetatable({kind = kind, folder = folder,
    rounds = options.quick and 3 or 5,
    seconds = options.quick and 0.01 or 0.015}, Bench)
  bench:run(options.quick and QUICK_BURSTS or BURSTS,
    options.quick and QUICK_SIZES or SIZES)
  -- The end that connected is closed first.
  local c = config.new()
  config.app(c, "receive", Port, engine.configuration.apps.receive.arg)
  engine.configure(c)
  say{type = "core", core_per_tsc = C.pg_core_per_tsc(), done = true,
      tsc_hz = tonumber(C.pg_tsc_hz())}
end

return M

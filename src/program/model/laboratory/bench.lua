-- SPDX-License-Identifier: Apache-2.0
-- The graph that one kind of port is measured in: packets go round between two ends of
-- it, or come of themselves, through apps.load.cycles; and one measurement with it.

local C = require("core.native")
local config = require("core.config")
local Cycles = require("apps.load.cycles").Cycles
local cycles_report = require("core.watch.cycles_report")
local engine = require("core.app")
local failure = require("core.failure")
local fit = require("program.model.laboratory.fit")
local link = require("core.link")
local packet = require("core.packet")
local Port = require("apps.port.port").Port

local Bench = {}
Bench.__index = Bench

local CRC = 4
local WARM_UP_S = 0.1
local SETTLE = 8 -- a measurement's time, divided by this: what is under way before it
local SHARES, SHARES_S = 5, 0.015 -- runs, and seconds of each

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

--- For `kind` (model.kinds), whose sockets and files go into `folder`.
function Bench.new(kind, folder)
  return setmetatable({kind = kind, folder = folder}, Bench)
end

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
local function seed(self)
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

local function loop(self, size)
  local c = config.new()
  local to = ports(self, c, size)
  config.app(c, "load", Cycles, 0)
  config.app(c, "sizer", Sizer)
  config.link(c, "receive.output -> load.input")
  config.link(c, "load.output -> sizer.input")
  config.link(c, "sizer.output -> " .. to .. ".input")
  engine.configure(c)
  engine.app_table.sizer.size = size - CRC
  self.call = engine.app_table.load:takes()
end

--- Make the graph for packets of this size (bytes with CRC).
function Bench:size(size)
  local apps = engine.app_table
  if self.kind.round and apps.sizer then
    apps.sizer.size = size - CRC
  else
    if self.kind.round then seed(self) end
    loop(self, size)
  end
  self:point(0, WARM_UP_S)
end

--- Receive no more packets than this at once.
function Bench:burst(burst)
  engine.app_table.receive.port.burst = burst
end

--- Run with a task of so many cycles for so many seconds: the TSC cycles of CPU time
--- that a packet takes (without the emulator's call where it does nothing), and the
--- packets received in a breath. It is an error if there are none.
function Bench:point(task, seconds)
  local apps = engine.app_table
  local load, device = apps.load, apps.receive.port
  load.cycles, load.additions = task, 0
  load:track()
  engine.main{duration = seconds / SETTLE, no_report = true}
  local packets, breaths = device.rxpackets, tonumber(engine.breaths.c)
  local cpu = C.pg_thread_cpu_seconds()
  engine.main{duration = seconds, no_report = true}
  cpu = C.pg_thread_cpu_seconds() - cpu
  local n = tonumber(device.rxpackets - packets)
  if n == 0 then
    failure.raise(self.kind.round and "no packet came back from the other end"
      or "no packets came in")
  end
  return cpu * tonumber(C.pg_tsc_hz()) / n - (task == 0 and self.call or 0),
    n / (tonumber(engine.breaths.c) - breaths)
end

--- What the account of cycles says of C_IO without a task: cycles a packet to receive,
--- to send, and of the engine; medians. Nil if there were too few samples.
function Bench:shares()
  local all = {receive = {}, send = {}, engine = {}}
  engine.count_cycles = true
  for _ = 1, SHARES do
    cycles_report.begin()
    self:point(0, SHARES_S)
    local spent = cycles_report.since()
    for part, list in pairs(all) do list[#list + 1] = spent and spent[part] end
  end
  engine.count_cycles = false
  if #all.receive == 0 then return nil end
  return fit.median(all.receive), fit.median(all.send), fit.median(all.engine)
end

return Bench

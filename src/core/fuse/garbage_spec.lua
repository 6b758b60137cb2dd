-- SPDX-License-Identifier: Apache-2.0
-- No Lua allocation on the packet path: the heap doesn't grow with the packets. What
-- it may grow by is what the engine does every 10 ms, and some boxed 64-bit numbers for
-- each breath, which engine.breathe calls from the interpreter (some 100 to 300 bytes,
-- and a breath has 250 packets or more): a byte a packet or so, where one table, string
-- or box per packet would be 16 or more.

local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local engine = require("core.app")
local link = require("core.link")
local packet = require("core.packet")
local pool = require("core.pool")
local port = require("apps.port.port")

local rshift = bit.rshift
local PACKETS = 1e7
local LIMIT = 4 -- bytes a packet

-- A source of packets whose first byte is random.
local Noise = {}
Noise.__index = Noise

function Noise:new() return setmetatable({seed = 1}, Noise) end

local function emit(output, seed, n)
  for _ = 1, n do
    seed = (seed * 1103515245 + 12345) % 2 ^ 31
    local p = packet.allocate()
    p.length = 64
    p.data[0] = rshift(seed, 16)
    link.transmit(output, p)
  end
  return seed
end

function Noise:pull() self.seed = emit(self.output.output, self.seed, 250) end

-- Fwd with links.
local Hop = {}
Hop.__index = Hop

function Hop:new() return setmetatable({}, Hop) end

local function move(input, output, n)
  for _ = 1, n do link.transmit(output, link.receive(input)) end
end

function Hop:push()
  local input = self.input.input
  move(input, self.output.output, link.nreadable(input))
end

-- Drops, branches, changes of length.
local Mix = {outputs = {"output", "o2"}, drops = {"x", "y"}}
Mix.__index = Mix

function Mix:new() return setmetatable({}, Mix) end

function Mix.process(_, p)
  local byte = p.data[0]
  if byte < 20 then return nil, 1 + byte % 2 end
  if byte < 60 then return packet.resize(p, 100), 2 end
  if byte < 90 then return packet.shiftleft(p, 4) end
  return p
end

-- The same of bursts.
local Bulk = {outputs = {"output", "o2"}, drops = {"x", "y"}}
Bulk.__index = Bulk

function Bulk:new() return setmetatable({}, Bulk) end

function Bulk.process_burst(_, packets, n, route)
  for i = 0, n - 1 do
    local byte = packets[i].data[0]
    route[i] = byte < 20 and -1 - byte % 2 or byte < 60 and 2 or 1
  end
end

local function configuration(apps, links)
  local c = config.new()
  for name, app in pairs(apps) do config.app(c, name, unpack(app)) end
  for _, spec in ipairs(links) do config.link(c, spec) end
  return c
end

local MIXED = {"in.output -> a.i", "a.output -> b.i", "a.o2 -> c.i", "b.output -> c.j",
               "b.o2 -> out.input", "c.output -> out.i2"}

-- Bytes by which the heap grows for each packet that ends, as the running graph is.
local function grown()
  local account = pool.freelist
  local function ended() return tonumber(account.frees + account.sent) end
  local function breathe(n)
    for _ = 1, n do engine.breathe() end
  end
  local before = ended()
  breathe(3000)
  local breaths = PACKETS / (ended() - before) * 3000
  collectgarbage()
  collectgarbage("stop")
  before = ended()
  local heap = collectgarbage("count")
  breathe(breaths)
  heap = collectgarbage("count") - heap
  collectgarbage("restart")
  assert.is_true(ended() - before > PACKETS / 2)
  return 1024 * heap / (ended() - before)
end

-- The least of up to four such: where others use the CPU too, what the engine does
-- every 10 ms weighs more. Before the last two all is compiled afresh: LuaJIT gives up
-- on a way out of a trace after four attempts, which in a process that has run all
-- kinds of graphs may have failed for other reasons.
local function growth(c)
  engine.configure(c)
  local least = math.huge
  for try = 1, 4 do
    if try == 3 then jit.flush() end
    least = math.min(least, grown())
    if least < LIMIT then break end
  end
  return least
end

local function below(limit, bytes)
  assert.is_true(bytes < limit, bytes .. " bytes a packet")
end

describe("the heap #slow", function ()
  after_each(function ()
    collectgarbage("restart")
    engine.fuse = true
    engine.configure(config.new())
  end)

  it("doesn't grow with packets that pass a region between ports", function ()
    local links = {unpack(MIXED, 1, 4)}
    links[5] = "c.output -> out.input"
    local apps = {["in"] = {port.Port, "null"}, out = {port.Port, "null"},
                  a = {Mix}, b = {Mix}, c = {Mix}}
    below(LIMIT, growth(configuration(apps, links)))
  end)

  it("doesn't grow with packets that pass one between Snabb's apps", function ()
    local apps = {["in"] = {Noise}, out = {basic.Sink}, a = {Mix}, b = {Mix}, c = {Mix}}
    below(LIMIT, growth(configuration(apps, MIXED)))
    engine.fuse = false
    below(LIMIT, growth(configuration(apps, MIXED)))
  end)

  it("doesn't grow with packets that pass Snabb's apps", function ()
    local apps = {["in"] = {basic.Source}, tee = {basic.Tee}, hop = {Hop}, hop2 = {Hop},
                  join = {basic.Join}, cut = {basic.Truncate, 70},
                  some = {basic.Sample, 3}, sink = {basic.Sink}}
    local links = {"in.output -> tee.input", "tee.a -> hop.input", "tee.b -> join.b",
                   "hop.output -> hop2.input", "hop2.output -> join.a",
                   "join.output -> cut.input", "cut.output -> some.input",
                   "some.output -> sink.input"}
    below(LIMIT, growth(configuration(apps, links)))
  end)

  it("doesn't grow with packets that pass apps of all kinds", function ()
    local apps = {["in"] = {Noise}, a = {Mix}, bulk = {Bulk}, b = {Mix}, hop = {Hop},
                  bulk2 = {Bulk}, out = {port.Port, "null:size=64"},
                  sink = {basic.Sink}}
    local links = {"in.output -> a.i", "a.output -> bulk.i", "a.o2 -> bulk2.i",
                   "bulk.output -> b.i", "bulk.o2 -> hop.input", "hop.output -> b.j",
                   "bulk2.output -> b.k", "b.output -> out.input", "b.o2 -> sink.i"}
    below(LIMIT, growth(configuration(apps, links)))
  end)
end)

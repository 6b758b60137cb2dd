-- SPDX-License-Identifier: Apache-2.0
-- For specs: the apps of random graphs (testing.random_graphs), whose decisions follow
-- from the packet alone.

local ffi = require("ffi")
local link = require("core.link")
local packet = require("core.packet")

local testing = {}

-- A test packet begins with this. `path` is a hash of the apps it has passed.
local header_t = ffi.typeof("struct { uint32_t id, hops, path, spare; } *")
local HEADER, SHORTEST = 16, 24

local function header(p) return ffi.cast(header_t, p.data) end

local band, bxor, rshift, tobit = bit.band, bit.bxor, bit.rshift, bit.tobit

-- A number that depends on every bit of the arguments.
local function mixed(a, b, c)
  local h = bxor(tobit(a * 40503), tobit(b * 65599), tobit(c * 30011))
  h = bxor(h, rshift(h, 7))
  h = tobit(band(h, 0xffffff) * 251 + rshift(h, 24))
  return band(bxor(h, rshift(h, 11)), 0xffff)
end

-- Per packet ------------------------------------------------------------------

-- What an app does with a packet, by number. The header stays in front.
local CHANGES = {
  function (p) return p end,
  function (p, h) return packet.resize(p, SHORTEST + h % 400) end,
  function (p, h)
    local n = h % (HEADER + 1) -- what was there covers all that is opened
    p = packet.shiftright(p, n)
    ffi.copy(p.data, ffi.string(p.data + n, HEADER), HEADER)
    return p
  end,
  function (p, h)
    local n = math.min(h % 40, p.length - SHORTEST)
    ffi.copy(p.data + n, ffi.string(p.data, HEADER), HEADER)
    return packet.shiftleft(p, n)
  end,
  function (p)
    local q = packet.clone(p)
    packet.free(p)
    return q
  end,
  function (p, h)
    local q = packet.from_pointer(p.data, SHORTEST + h % (p.length - SHORTEST + 1))
    packet.free(p)
    return q
  end,
}

local function process(self, p)
  local head = header(p)
  local h = mixed(head.id, head.hops, self.salt)
  if head.hops == 0 then return nil, 1 end
  head.hops = head.hops - 1
  head.path = tobit(head.path * 31 + self.salt)
  if h % 100 < self.losing then
    if h % 3 == 0 then packet.shiftleft(p, h % 8) end -- who drops may have begun
    return nil, self.reasons[h % 7]
  end
  if h % 2 == 0 then p = CHANGES[rshift(h, 3) % #CHANGES + 1](p, h) end
  local o = rshift(h, 6) % self.ways
  head = header(p)
  head.path = tobit(head.path * 7 + o)
  if o == 0 then return p end
  return p, o
end

local REASONS = {[0] = nil, 1, 2, 3, 4, 0, 77}

--- A class of apps with `n` outputs that treat packets one by one. Its argument:
--- salt, losing (percent), and whether it now and then names no output of its own.
function testing.class(n)
  local outputs = {}
  for i = 1, n do outputs[i] = i == 1 and "output" or "o" .. i end
  local class = {outputs = outputs, process = process, drops = {"hops", "b c", "b-c"},
                 counts_hops = true}
  class.__index = class
  function class:new(arg)
    return setmetatable({
      salt = arg.salt, losing = arg.losing, reasons = REASONS,
      ways = n + (arg.astray and 2 or 1),
    }, class)
  end
  return class
end

-- With known lengths -----------------------------------------------------------

local function make_longer(p, by)
  local head = ffi.string(p.data, HEADER)
  p = by > 0 and packet.shiftright(p, by) or packet.shiftleft(p, -by)
  ffi.copy(p.data, head, HEADER)
  return p
end

local function process_steadily(self, p)
  local head = header(p)
  local h = mixed(head.id, head.hops, self.salt)
  if head.hops == 0 or p.length + self.lengthens < SHORTEST then return nil, 1 end
  head.hops = head.hops - 1
  if h % 100 < self.losing then return nil, self.reasons[h % 7] end
  local o = rshift(h, 6) % self.ways
  head.path = tobit(head.path * 31 + self.salt + o)
  if self.lengthens ~= 0 then p = make_longer(p, self.lengthens) end
  if o == 0 then return p end
  return p, o
end

--- The same as class(n), of apps that say that they make packets `by` bytes longer, and
--- whose process() knows its app.
function testing.steady_class(n, by)
  local class = testing.class(n)
  local new = class.new
  class.lengthens, class.bound = by, true
  function class:new(arg)
    local app = new(self, arg)
    function app.process(_, p)
      local q, o = process_steadily(app, p)
      return q, o
    end
    return app
  end
  return class
end

-- With emit() -----------------------------------------------------------------

-- Sends copies out of some outputs, depending on the packet, and the packet itself in
-- one of four ways: returned, emitted, kept until the next breath, or dropped.
local function emit_some(self, p, input)
  local head = header(p)
  local h = mixed(head.id, head.hops, self.salt + input)
  if head.hops == 0 then return nil, 1 end
  head.hops = head.hops - 1
  head.path = tobit(head.path * 31 + self.salt + 7 * input)
  for o = 1, self.ways do
    if rshift(h, o) % 4 == 0 then
      local copy = packet.clone(p)
      header(copy).path = tobit(head.path * 7 + o + 100)
      self.emit(o, copy)
    end
  end
  local way = rshift(h, 5) % 8
  if way == 0 then return nil, 2 end
  head.path = tobit(head.path * 7 + way)
  if way < 4 then return p, way % self.ways + 1 end
  if way < 6 then
    self.emit(way % self.ways + 1, p)
  else
    table.insert(self.kept, p)
  end
  return false
end

local function emit_kept(self)
  local kept = self.kept
  self.kept = {}
  for _, p in ipairs(kept) do
    local head = header(p)
    local o = head.id % self.ways + 1
    head.path = tobit(head.path * 7 + o)
    self.emit(o, p)
  end
end

local INPUTS = {"input", "i2", "end"}

--- A class of apps with `n` outputs that emit packets, and keep some for a while.
function testing.emitting_class(n)
  local outputs = {}
  for i = 1, n do outputs[i] = i == 1 and "output" or "o" .. i end
  local class = {outputs = outputs, inputs = INPUTS, process = emit_some, emits = true,
                 drops = {"hops", "some"}, pull = emit_kept, counts_hops = true}
  class.__index = class
  function class:new(arg)
    return setmetatable({salt = arg.salt, ways = n, kept = {}}, class)
  end
  return class
end

-- Ends ------------------------------------------------------------------------

local Feeder = {}
Feeder.__index = Feeder
Feeder.link_names = {input = {}, output = {output = true}}

--- A source of `count` packets with ids from `first` on, at most `rate` a breath.
function Feeder:new(arg)
  return setmetatable({next = arg.first, last = arg.first + arg.count - 1,
                       rate = arg.rate, hops = arg.hops}, self)
end

function Feeder:pull()
  local output = self.output.output
  if not output then return end
  for _ = 1, math.min(self.rate, self.last - self.next + 1) do
    local p = packet.resize(packet.allocate(), SHORTEST + self.next % 700)
    local head = header(p)
    head.id, head.hops, head.path, head.spare = self.next, self.hops, 0, 0
    self.next = self.next + 1
    if self.emit then self.emit(1, p) else link.transmit(output, p) end
  end
end

--- The same, which emits what it sends.
local EmittingFeeder = {}
for key, value in pairs(Feeder) do EmittingFeeder[key] = value end
EmittingFeeder.__index, EmittingFeeder.emits = EmittingFeeder, true
EmittingFeeder.link_names = nil

local Collector = {}
Collector.__index = Collector

--- A sink that keeps the bytes of what it gets, in order, by the path it came.
function Collector:new()
  return setmetatable({got = {}}, self)
end

function Collector:push()
  for i = 1, #self.input do
    for _ = 1, link.nreadable(self.input[i]) do
      local p = link.receive(self.input[i])
      local head = header(p)
      local path = ("%d %d"):format(head.path, head.id / 100000)
      self.got[path] = self.got[path] or {}
      table.insert(self.got[path], ffi.string(p.data, p.length))
      packet.free(p)
    end
  end
end

local Fork = {counts_hops = true}
Fork.__index = Fork

--- Snabb's Tee, but that copies tell which way they went, and count hops.
function Fork:new() return setmetatable({}, Fork) end

function Fork:push()
  for i = 1, #self.input do
    for _ = 1, link.nreadable(self.input[i]) do
      local p = link.receive(self.input[i])
      for _, name in ipairs{"a", "b"} do
        if self.output[name] and header(p).hops > 0 then
          local copy = packet.clone(p)
          header(copy).hops = header(p).hops - 1
          header(copy).path = tobit(header(copy).path * 7 + #name + name:byte())
          link.transmit(self.output[name], copy)
        end
      end
      packet.free(p)
    end
  end
end

-- Of Snabb's form, and fused as it is: changes packets, frees some and copies others.
local Old = {counts_hops = true, must_send = true}
Old.__index = Old

function Old:new(salt) return setmetatable({salt = salt}, Old) end

function Old:push()
  local input, output = self.input.input, self.output.output
  while not link.empty(input) do
    local p = link.receive(input)
    local head = header(p)
    local h = mixed(head.id, head.hops, self.salt)
    if head.hops == 0 or h % 9 == 0 then
      packet.free(p)
    else
      head.hops = head.hops - 1
      head.path = tobit(head.path * 31 + self.salt)
      if h % 16 == 1 then
        local copy = packet.clone(p)
        header(copy).path = tobit(head.path * 7 + 1)
        link.transmit(output, copy)
      end
      if h % 2 == 0 then p = CHANGES[rshift(h, 3) % #CHANGES + 1](p, h) end
      link.transmit(output, p)
    end
  end
end

-- A bulk app with two outputs, which now and then names a third, and drops by name.
local Bulk = {outputs = {"a", "b"}, drops = {"c d", "e"}, counts_hops = true}
Bulk.__index = Bulk

function Bulk:new(salt) return setmetatable({salt = salt}, Bulk) end

function Bulk:process_burst(packets, n, route)
  for i = 0, n - 1 do
    local head = header(packets[i])
    local h = head.hops == 0 and 0 or mixed(head.id, head.hops, self.salt)
    head.hops = math.max(head.hops - 1, 0)
    route[i] = h % 50 == 0 and 3 or h % 8 == 0 and -1 - h % 3 or h % 3
    head.path = tobit(head.path * 7 + route[i])
  end
end

testing.Feeder, testing.EmittingFeeder, testing.Collector = Feeder, EmittingFeeder,
  Collector
testing.Fork, testing.Bulk, testing.Old = Fork, Bulk, Old

return testing

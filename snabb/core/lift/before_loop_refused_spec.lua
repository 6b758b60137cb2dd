-- SPDX-License-Identifier: Apache-2.0
-- Push functions that do before their loop what could be otherwise in a region: they do
-- as between links, most of them because they stay there.

local config = require("core.config")
local engine = require("core.app")
local lifted = require("testing.lifted")
local link = require("core.link")
local packet = require("core.packet")
local regions = require("testing.regions")

local class = regions.class
local SHARED = "push() uses state before its loop that a neighbouring app modifies"

local CASES = {}

-- `why` it isn't fused; nil: it is.
local function case(name, why, push, methods)
  CASES[name] = {why = why, push = push, methods = methods}
end

local function cut(p, n) return packet.resize(p, math.min(p.length, n)) end
local function short(p) return cut(p, 9) end
local function long(p) return packet.append(p, "abc", 3) end

local limit = 30

case("names something else within a block", "it uses 'i' in", function (self)
  local i, o = self.input.input, self.output.output
  if i then
    local limit = 9 -- luacheck: ignore
  end
  while not link.empty(i) do
    local p = link.receive(i)
    link.transmit(o, cut(p, limit))
  end
end)

case("gives the name of a link to something else", "'o' is declared twice",
  function (self)
    local i, o = self.input.input, self.output.output -- luacheck: ignore
    local o = self.elsewhere -- luacheck: ignore
    while not link.empty(i) do
      local p = link.receive(i)
      link.transmit(o, p)
    end
  end, {link = function (self) self.elsewhere = self.output.output end})

case("exchanges names", "'limit' is declared twice", function (self)
  local i, o = self.input.input, self.output.output
  local limit, twice = self.salt.value, math.abs(2 * limit) -- luacheck: ignore
  while not link.empty(i) do
    local p = link.receive(i)
    if p.length < twice then
      link.transmit(o, cut(p, limit))
    else
      packet.free(p)
    end
  end
end)

local way = {change = long}

case("keeps a function that it exchanges", SHARED, function (self)
  local i, o = self.input.input, self.output.output
  local change = way.change
  way.change = change == long and short or long
  while not link.empty(i) do
    local p = link.receive(i)
    link.transmit(o, change(p))
  end
end)

case("exchanges a function as it goes", SHARED, function (self)
  local i, o = self.input.input, self.output.output
  local change = way.change
  while not link.empty(i) do
    local p = link.receive(i)
    way.change = p.length % 2 == 1 and short or long
    link.transmit(o, change(p))
  end
end)

local function bump(conf) conf.value = conf.value % 40 + 1 end

case("keeps what others change", nil, function (self)
  local i, o = self.input.input, self.output.output
  local length = self.salt.value
  bump(self.salt)
  while not link.empty(i) do
    local p = link.receive(i)
    link.transmit(o, cut(p, length))
  end
end)

case("keeps what others change in its loop", nil, function (self)
  local i, o = self.input.input, self.output.output
  local length = self.salt.value
  while not link.empty(i) do
    local p = link.receive(i)
    bump(self.salt)
    link.transmit(o, cut(p, length))
  end
end)

case("has functions that live on", "a function within it uses 'n'", function (self)
  local i, o = self.input.input, self.output.output
  local n = 0
  self.count = self.count or function () return n end
  while not link.empty(i) do
    local p = link.receive(i)
    n = n + 1
    link.transmit(o, cut(p, 10 + self.count()))
  end
end)

case("looks into a link that it keeps", "it uses its links", function (self)
  local i, o = self.input.input, self.output.output
  self.bytes = (self.bytes or 0) + link.nreadable(self.mine)
  while not link.empty(i) do
    local p = link.receive(i)
    link.transmit(o, p)
  end
end, {link = function (self) self.mine = self.input.input end})

local calls = 0

case("counts calls with others", SHARED, function (self)
  local i, o = self.input.input, self.output.output
  calls = (calls + 1) % 100
  while not link.empty(i) do
    local p = link.receive(i)
    link.transmit(o, cut(p, calls))
  end
end)

local sum = 0

case("reckons with what others count", SHARED, function (self)
  local i, o = self.input.input, self.output.output
  local before = sum % 50
  while not link.empty(i) do
    local p = link.receive(i)
    sum = sum + p.length
    link.transmit(o, cut(p, before))
  end
end)

local shared = {bytes = 0}

case("reckons with a table that others change", SHARED, function (self)
  local i, o = self.input.input, self.output.output
  local before = shared.bytes % 50
  while not link.empty(i) do
    local p = link.receive(i)
    shared.bytes = shared.bytes + p.length
    link.transmit(o, cut(p, before))
  end
end)

describe("an app that before its loop", function ()
  before_each(function () packet.free(packet.allocate()) end)
  after_each(function ()
    engine.lift = true
    engine.configure(config.new())
  end)

  for name, it_is in pairs(CASES) do
    it(name .. " does as it did", function ()
      local lists = {}
      for i = 1, 5 do lists[i] = lifted.random_texts(math.random(2, 20)) end
      local function outcome(lifting)
        engine.lift = lifting
        way.change, calls, sum, shared.bytes = long, 0, 0, 0
        local result = lifted.outcome(it_is.push, lists, it_is.methods)
        result.held = nil
        return result
      end
      assert.same(outcome(false), outcome(true))
      local why = engine.not_fused.a
      assert.equal(it_is.why ~= nil, why ~= nil, why)
      if why then assert.is_truthy(why:find(it_is.why, 1, true), why) end
    end)
  end
end)

describe("an app isn't fused if before its loop", function ()
  after_each(function () engine.configure(config.new()) end)

  local function reason(push) return lifted.reason(class{push = push}) end

  it("it returns", function ()
    assert.matches("it returns before its loop has ended", reason(function (self)
      if self.closed then return end
      while not link.empty(self.input.input) do
        local p = link.receive(self.input.input)
        link.transmit(self.output.output, p)
      end
    end))
  end)

  it("it looks into a link", function ()
    assert.matches("it uses its links in another way", reason(function (self)
      local waiting = link.front(self.input.input)
      while not link.empty(self.input.input) do
        local p = link.receive(self.input.input)
        if waiting and p.length == waiting.length then self.same = true end
        link.transmit(self.output.output, p)
      end
    end))
  end)

  it("it sends", function ()
    assert.matches("it sends within an expression", reason(function (self)
      if self.kept then
        link.transmit(self.output.output, self.kept)
        self.kept = nil
      end
      while not link.empty(self.input.input) do
        local p = link.receive(self.input.input)
        link.transmit(self.output.output, p)
      end
    end))
  end)

  it("a name has two meanings", function ()
    assert.matches("'passed' is declared twice", reason(function (self)
      self.passed = passed -- luacheck: ignore
      local passed = self.passed or 0
      while not link.empty(self.input.input) do
        local p = link.receive(self.input.input)
        passed = passed + 1
        link.transmit(self.output.output, p)
      end
    end))
  end)

  it("a link's name is given to another", function ()
    assert.matches("it uses its links in another way", reason(function (self)
      local l, o = self.input.other, self.output.output
      l = l or self.input.input -- luacheck: ignore
      while not link.empty(l) do
        local p = link.receive(l)
        link.transmit(o, p)
      end
    end))
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
-- Snabb's apps that are fused as they are: what they do with packets is the same in a
-- region and by themselves.

local config = require("core.config")
local engine = require("core.app")
local lifted = require("testing.lifted")
local link = require("core.link")
local packet = require("core.packet")
local regions = require("testing.regions")
local texts = require("testing.texts")

local class, run_anew = regions.class, regions.run_anew
local outcome, snabb = lifted.outcome, lifted.class
local receive, transmit = link.receive, link.transmit

local plain_assert = getfenv(require).assert -- here it's luassert's

local passed = 0 -- by all apps that count here

local LIFTED = {}

LIFTED["empties its input"] = regions.forward

LIFTED["has no name for the packet"] = function (self)
  local input, output = self.input.input, self.output.output
  for _ = 1, link.nreadable(input) do
    link.transmit(output, link.receive(input))
  end
end

LIFTED["changes it as it takes it"] = function (self)
  local input, output = self.input.input, self.output.output
  while not link.empty(input) do
    link.transmit(output, packet.append(link.receive(input), "abc", 3))
    self.bytes = (self.bytes or 0) + 1
  end
end

LIFTED["counts to what there is"] = function (self)
  local input = plain_assert(self.input.input, "no input")
  local output = plain_assert(self.output.output, "no output")
  local n = link.nreadable(input)
  for _ = 1, n do
    local p = receive(input)
    passed = passed + 1
    transmit(output, p)
  end
end

LIFTED["names no links"] = function (self)
  for _ = 1, link.nreadable(self.input.input) do
    local p = receive(self.input.input)
    p.data[0] = p.data[0] + 1
    transmit(self.output.output, p)
  end
end

LIFTED["is written in an odd way"] = function (self)
  local i, o, free = self.input.input, self.output.output,
    packet.free -- what is too short
  while (not link.empty(i)) do
    local p = link.receive(i); -- luacheck: ignore
    if p.length < 10 then free(p) else link.transmit(o, p); end;
  end
end

LIFTED["frees some"] = function (self)
  local i, o = self.input.input, self.output.output
  while not link.empty(i) do
    local p = link.receive(i)
    if p.length % 3 == 0 then
      packet.free(p)
    else
      link.transmit(o, p)
    end
  end
end

LIFTED["goes on with the next"] = function (self)
  local i, o = self.input.input, self.output.output
  while not link.empty(i) do
    local p = link.receive(i)
    if p.length % 5 == 0 then
      packet.free(p)
      goto continue
    end
    if p.length % 5 == 1 then
      link.transmit(o, packet.append(p, "xy", 2))
      goto continue
    end
    link.transmit(o, p)
    ::continue::
  end
end

LIFTED["counts what it has sent"] = function (self)
  local i, o = self.input.input, self.output.output
  while not link.empty(i) do
    local p = link.receive(i)
    local length = p.length
    link.transmit(o, p)
    self.bytes = (self.bytes or 0) + length
  end
end

LIFTED["sends copies"] = function (self)
  local i, o = self.input.input, self.output.output
  while not link.empty(i) do
    local p = link.receive(i)
    for _ = 1, p.length % 3 do
      local copy = packet.clone(p)
      link.transmit(o, copy)
    end
    link.transmit(o, p)
  end
end

LIFTED["keeps some"] = function (self)
  local i, o = self.input.input, self.output.output
  while not link.empty(i) do
    local p = link.receive(i)
    if self.kept then
      link.transmit(o, self.kept)
      self.kept = nil
    end
    if p.length % 4 == 0 then
      self.kept = p
    else
      link.transmit(o, p)
    end
  end
end

LIFTED["calls methods"] = function (self)
  local i, o = self.input.input, self.output.output
  local salt, most = self.salt, 100
  while not link.empty(i) do
    local p = link.receive(i)
    p = self:salted(p, salt.value)
    if p.length > most then p = packet.resize(p, most) end
    transmit(o, p)
  end
end

local function pass(app, input, output, n)
  for _ = 1, n do
    local p = receive(input)
    app.bytes = (app.bytes or 0) + p.length
    transmit(output, p)
  end
end

LIFTED["has a function for it"] = function (self)
  local input = self.input.input
  pass(self, input, self.output.output, link.nreadable(input))
end

local function pass_one(i, o)
  while not link.empty(i) do
    local packet_in_hand = receive(i)
    transmit(o, packet_in_hand)
  end
end

LIFTED["has one without self"] = function (self)
  pass_one(self.input.input, self.output.output)
end

LIFTED["sends from within a block"] = function (self)
  local i, o = self.input.input, self.output.output
  while not link.empty(i) do
    local p = link.receive(i)
    do
      local function odd(n) return n % 2 == 1 end
      if odd(p.length) then
        packet.shiftleft(p, 1)
        link.transmit(o, p)
      elseif p.length == 4 then
        packet.free(p)
      else
        link.transmit(o, p)
      end
    end
  end
end

describe("an app of Snabb's form", function ()
  before_each(function () packet.free(packet.allocate()) end)
  after_each(function ()
    engine.lift = true
    engine.configure(config.new())
  end)

  for name, push in pairs(LIFTED) do
    it(name .. ", fused as well as by itself #slow", function ()
      lifted.same_both_ways(push)
    end)
  end

  it("may send to several outputs", function ()
    local Sort = class{push = function (self)
      while not link.empty(self.input.input) do
        local p = link.receive(self.input.input)
        if p.length > 3 then
          link.transmit(self.output.long, p)
        else
          link.transmit(self.output.short, p)
        end
      end
    end}
    run_anew({a = {regions.Pass}, sort = {Sort}}, {"in.x -> a.input",
      "a.output -> sort.input", "sort.short -> out.short", "sort.long -> out.long"})
    assert.equal(1, #engine.regions)
    texts.send("in.x -> a.input", {"a", "bbbb", "cc", "ddddd"})
    engine.breathe()
    assert.same({"a", "cc"}, texts.take("sort.short -> out.short"))
    assert.same({"bbbb", "ddddd"}, texts.take("sort.long -> out.long"))
  end)

  it("shares its upvalues and globals", function ()
    passed = 0
    outcome(LIFTED["counts to what there is"], {lifted.random_texts(10)})
    assert.equal(20, passed)
    local push = setfenv(assert(loadstring([[
      function push(self)
        while not link.empty(self.input.input) do
          local p = link.receive(self.input.input)
          sum = sum + p.length
          link.transmit(self.output.output, p)
        end
      end
      return push]])), {link = link, sum = 0})()
    outcome(push, {{"abc", "de"}})
    assert.equal(10, getfenv(push).sum)
  end)

  it("is named with the line of its file in errors", function ()
    local line = debug.getinfo(1, "l").currentline
    local Failing = class{push = function (self)
      local i = self.input.input

      while not link.empty(i) do
        local p = link.receive(i)
        if p.length == 1 then
          error("what now")
        end
        link.transmit(self.output.output, p)
      end
    end}
    run_anew({a = {regions.Pass}, b = {Failing}},
      {"in.x -> a.input", "a.output -> b.input", "b.output -> out.x"})
    local before = texts.held()
    texts.send("in.x -> a.input", {"abc", "d", "ef"})
    local ok, err = pcall(engine.main, {duration = 1, no_report = true})
    assert.is_false(ok)
    assert.matches("app 'b': in push%(%): .*lift_spec.lua:" .. line + 7 .. ": what now",
      tostring(err))
    assert.equal(before + 1, texts.held())
    assert.same({"abc"}, texts.take("b.output -> out.x"))
    texts.take("in.x -> a.input")
  end)

  it("is itself again when it isn't fused any more", function ()
    local Fwd = snabb(LIFTED["empties its input"])
    run_anew({a = {Fwd}, b = {Fwd}},
      {"in.x -> a.input", "a.output -> b.input", "b.output -> out.x"})
    assert.equal(1, #engine.regions)
    local a = engine.app_table.a
    regions.run({a = {Fwd}}, {"in.x -> a.input", "a.output -> out.x"})
    assert.equal(0, #engine.regions)
    assert.equal(a, engine.app_table.a)
    assert.is_nil(rawget(a, "process"))
    texts.send("in.x -> a.input", {"abc"})
    engine.breathe()
    assert.same({"abc"}, texts.take("a.output -> out.x"))
  end)

  it("may have any fields", function ()
    local Drop = class{process = function () return nil end}
    Drop.new = function (self) return setmetatable({lifted = {}}, {__index = self}) end
    run_anew({a = {Drop}, b = {snabb(LIFTED["empties its input"])}},
      {"in.x -> a.input", "a.output -> b.input", "b.output -> out.x"})
    texts.send("in.x -> a.input", {"abc"})
    engine.breathe()
    assert.same({dropped = 1}, engine.drops("a"))
  end)

  it("isn't kept for its view", function ()
    local gone = setmetatable({}, {__mode = "k"})
    local Fwd = snabb(LIFTED["empties its input"])
    run_anew({a = {Fwd}, b = {Fwd}},
      {"in.x -> a.input", "a.output -> b.input", "b.output -> out.x"})
    gone[engine.app_table.a] = true
    engine.configure(config.new())
    jit.flush()
    collectgarbage()
    collectgarbage()
    assert.is_nil(next(gone))
  end)
end)

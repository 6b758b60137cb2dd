-- SPDX-License-Identifier: Apache-2.0
-- Snabb's apps that do something before their loop, once for all packets: fused as they
-- are.

local config = require("core.config")
local engine = require("core.app")
local lifted = require("testing.lifted")
local link = require("core.link")
local packet = require("core.packet")
local regions = require("testing.regions")
local texts = require("testing.texts")

local class, run_anew = regions.class, regions.run_anew
local receive, transmit = link.receive, link.transmit
local plain_assert = getfenv(require).assert -- here it's luassert's

local LIFTED = {}

LIFTED["works out what it allows"] = function (self)
  local i, o = plain_assert(self.input.input, "no input"), self.output.output
  do
    local rate = 100
    self.bytes = math.min((self.bytes or 0) + rate, 400)
  end
  while not link.empty(i) do
    local p = link.receive(i)
    if p.length <= self.bytes then
      self.bytes = self.bytes - p.length
      link.transmit(o, p)
    else
      packet.free(p)
    end
  end
end

LIFTED["counts from zero in each call"] = function (self)
  local i, o = self.input.input, self.output.output
  local n, before = 0, self.bytes or 0
  while not link.empty(i) do
    local p = link.receive(i)
    n = n + 1
    self.bytes = before + n
    if n % 7 == 0 then packet.free(p) else link.transmit(o, p) end
  end
end

LIFTED["asks somebody else"] = function (self)
  self.calls = (self.calls or 0) + 1
  local limit = math.fmod(self.calls * 13, 40)
  local salt = self.salt
  salt.value = 1 + self.calls % 5
  for _ = 1, link.nreadable(self.input.input) do
    local p = receive(self.input.input)
    if p.length < limit then
      packet.free(p)
    else
      transmit(self.output.output, self:salted(p, salt.value))
    end
  end
end

LIFTED["asks which links there are"] = function (self)
  local i = plain_assert(self.input.rx or self.input.input)
  local o = self.output.output or self.output.tx
  local other, mirror = self.input.other, self.output.mirror
  plain_assert(i and o)
  if other and mirror then
    while not link.empty(other) do transmit(mirror, receive(other)) end
  end
  if i then
    local extra = self.salt
    self.calls = (self.calls or 0) + extra.value
    while not link.empty(i) do
      local p = receive(i)
      transmit(o, packet.append(p, "abcdefghijkl", self.calls % 10))
    end
  end
end

LIFTED["goes over its inputs"] = function (self)
  for _, l in ipairs(self.input) do
    for _ = 1, link.nreadable(l) do
      local p = receive(l)
      if p.length % 2 == 0 then
        packet.free(p)
      else
        transmit(self.output.output, p)
      end
    end
  end
end

describe("an app that does something before its loop", function ()
  before_each(function () packet.free(packet.allocate()) end)
  after_each(function ()
    engine.lift = true
    engine.configure(config.new())
  end)

  for name, push in pairs(LIFTED) do
    it(name .. ", fused as well as by itself #slow", function ()
      lifted.same_both_ways(push, 20)
    end)
  end

  local Counting = class{push = function (self)
    self.calls = (self.calls or 0) + 1
    while not link.empty(self.input.input) do
      local p = link.receive(self.input.input)
      link.transmit(self.output.output, p)
    end
  end}

  it("does it once in each breath, with packets or without", function ()
    run_anew({a = {Counting}, b = {Counting}},
      {"in.x -> a.input", "a.output -> b.input", "b.output -> out.x"})
    assert.equal(1, #engine.regions, engine.not_fused.a)
    local before = engine.app_table.a.calls or 0
    engine.breathe()
    texts.send("in.x -> a.input", lifted.random_texts(700))
    engine.breathe()
    assert.equal(before + 2, engine.app_table.a.calls)
    assert.equal(before + 2, engine.app_table.b.calls)
    assert.equal(700, #texts.take("b.output -> out.x"))
  end)

  it("has done it when packets that waited are moved on", function ()
    local apps = {a = {Counting}, b = {class{push = function (self)
      local most = self.most or 10
      while not link.empty(self.input.input) do
        local p = link.receive(self.input.input)
        if p.length < most then
          link.transmit(self.output.output, p)
        else
          packet.free(p)
        end
      end
    end}}}
    local links = {"in.x -> a.input", "a.output -> b.input", "b.output -> out.x"}
    engine.lift = false
    run_anew(apps, links)
    texts.send("a.output -> b.input", {"abc", "0123456789"})
    engine.lift = true
    regions.run(apps, links)
    assert.equal(1, #engine.regions)
    engine.breathe()
    assert.same({"abc"}, texts.take("b.output -> out.x"))
  end)

  it("is named with the line of its file in errors", function ()
    local line = debug.getinfo(1, "l").currentline
    local Failing = class{push = function (self)
      local i = self.input.input
      self.calls = (self.calls or 0) + 1

      if self.calls == 3 then
        error("what now")
      end
      while not link.empty(i) do
        local p = link.receive(i)
        if p.length == 1 then error("short") end
        link.transmit(self.output.output, p)
      end
    end}
    local apps = {a = {regions.Pass}, b = {Failing}}
    local links = {"in.x -> a.input", "a.output -> b.input", "b.output -> out.x"}
    run_anew(apps, links)
    assert.equal(1, #engine.regions, engine.not_fused.b)
    local ok, err = pcall(engine.main, {duration = 1, no_report = true})
    assert.is_false(ok)
    assert.matches("app 'b': in push%(%): .*before_loop_spec.lua:" .. line + 6
      .. ": what now", tostring(err))
    run_anew(apps, links)
    texts.send("in.x -> a.input", {"d"})
    ok, err = pcall(engine.main, {duration = 1, no_report = true})
    assert.is_false(ok)
    assert.matches("before_loop_spec.lua:" .. line + 10 .. ": short", tostring(err))
  end)

  it("may fail when packets that waited are moved on: they are dropped", function ()
    local apps = {a = {Counting}, b = {class{push = function (self)
      self.calls = (self.calls or 0) + 1
      if self.fails then error("not now") end
      while not link.empty(self.input.input) do
        local p = link.receive(self.input.input)
        link.transmit(self.output.output, p)
      end
    end}}}
    local links = {"in.x -> a.input", "a.output -> b.input", "b.output -> out.x"}
    engine.lift = false
    run_anew(apps, links)
    texts.send("a.output -> b.input", {"abc", "de"})
    engine.app_table.b.fails = true
    engine.lift = true
    assert.error_matches(function () regions.run(apps, links) end,
      "app 'b': in push%(%): .*not now")
    assert.same({1, {error = 2}}, {engine.app_table.b.calls, engine.drops("b")})
    engine.app_table.b.fails = false
    texts.send("in.x -> a.input", {"fghi"})
    engine.breathe()
    assert.same({"fghi"}, texts.take("b.output -> out.x"))
  end)

  it("stays as it is where packets come at any time", function ()
    local Source = class{emits = true, inputs = {}, pull = function () end}
    run_anew({s = {Source}, a = {Counting}},
      {"s.output -> a.input", "a.output -> out.x"})
    assert.matches("packets come at any time", engine.not_fused.a)
  end)

  local function filtering(accepts, more)
    local kind = {new = function (self)
      return setmetatable({accepts = accepts}, {__index = self})
    end, push = function (self)
      while not link.empty(self.input.input) do
        local p = link.receive(self.input.input)
        if self.accepts(p.data, p.length) then
          link.transmit(self.output.output, p)
        else
          packet.free(p)
        end
      end
    end}
    for name, f in pairs(more or {}) do kind[name] = f end
    return kind
  end

  local function fused_with(kind)
    run_anew({a = {kind}, b = {kind}},
      {"in.x -> a.input", "a.output -> b.input", "b.output -> out.x"})
    return #engine.regions == 1, engine.not_fused.a
  end

  local SHORT = [[
    local band, uint8_t = bit.band, require("ffi").typeof("uint8_t *")
    return function (data, length) return band(length, 3) > 0 and data ~= uint8_t end]]

  it("may have a function of unknown source that it gives no app", function ()
    local accepts = assert(loadstring(SHORT, "length > 0"))()
    assert.is_true(fused_with(filtering(accepts)))
    texts.send("in.x -> a.input", {"abc", "four", "a"})
    engine.breathe()
    assert.same({"abc", "a"}, texts.take("b.output -> out.x"))
  end)

  it("isn't fused if that may get at links", function ()
    local accepts = assert(loadstring(SHORT, "length > 0"))()
    local other = {length = function (self) return self:accepts() end}
    local fused, why = fused_with(filtering(accepts, other))
    assert.is_false(fused)
    assert.matches("it calls accepts%(%), whose source isn't known", why)
    for _, text in ipairs{
      "local t = {} return function () return t end",
      "return function () return engine.app_table end",
      "return function () return function () end end",
    } do
      fused, why = fused_with(filtering(assert(loadstring(text, "what"))()))
      assert.is_false(fused)
      assert.matches("its accepts%(%) its source can't be parsed", why)
    end
  end)

  it("may ask for a link's counters in another method", function ()
    local Reporting = class{push = Counting.push, snapshot = function (self)
      return link.stats(self.input.input).rxpackets
    end}
    run_anew({a = {Reporting}, b = {Counting}},
      {"in.x -> a.input", "a.output -> b.input", "b.output -> out.x"})
    assert.equal(1, #engine.regions, engine.not_fused.a)
    texts.send("in.x -> a.input", {"abc", "de"})
    engine.breathe()
    assert.equal(2, engine.app_table.a:snapshot())
    texts.take("b.output -> out.x")
  end)
end)

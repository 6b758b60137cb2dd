-- SPDX-License-Identifier: Apache-2.0
-- Snabb's apps that aren't fused: what isn't surely the same for each packet by itself.

local engine = require("core.app")
local link = require("core.link")
local lift = require("core.lift.lift")
local lifted = require("testing.lifted")
local config = require("core.config")
local packet = require("core.packet")
local process = require("core.lib.process")
local regions = require("testing.regions")
local renewal = require("core.move.renewal")
local syntax = require("core.lift.syntax")
local texts = require("testing.texts")

local class, reason, run_anew = regions.class, lifted.reason, regions.run_anew

local forward = regions.forward

local REFUSED = {}

local function refused(why, push, fields) REFUSED[why] = {push, fields or {}} end

refused("it leaves its loop early", function (self)
  while not link.empty(self.input.input) do
    local p = link.receive(self.input.input)
    link.transmit(self.output.output, p)
    if p.length == 1 then break end
  end
end)

refused("it returns before its loop has ended", function (self)
  while not link.empty(self.input.input) do
    local p = link.receive(self.input.input)
    link.transmit(self.output.output, p)
    if p.length == 1 then return end
  end
end)

refused("it doesn't end with a loop that empties one input", function (self)
  local i, o = self.input.input, self.output.output
  while not link.empty(i) and not link.full(o) do
    local p = link.receive(i)
    link.transmit(o, p)
  end
end)

refused("it uses its links in another way than to send and receive", function (self)
  while not link.empty(self.input.input) do
    local p = link.receive(self.input.input)
    if link.full(self.output.output) then
      packet.free(p)
    else
      link.transmit(self.output.output, p)
    end
  end
end)

refused("it uses 'i' in another way than to send and receive", function (self)
  local i = self.input.input
  while not link.empty(i) do
    local p = link.receive(i)
    if not link.empty(i) then packet.append(p, "more", 4) end
    link.transmit(self.output.output, p)
  end
end)

refused("its loop doesn't begin with `local p = link.receive(...)`", function (self)
  while not link.empty(self.input.input) do
    local p = {link.receive(self.input.input), link.receive(self.input.input)}
    link.transmit(self.output.output, p[1])
  end
end)

refused("its loop doesn't begin with", function (self)
  while not link.empty(self.input.input) do
    local p = self.open and link.receive(self.input.input)
    if p then link.transmit(self.output.output, p) end
  end
end)

refused("it passes self on", function (self)
  local o = self.output.output
  while not link.empty(self.input.input) do
    local p = link.receive(self.input.input)
    self.list = {self}
    link.transmit(o, p)
  end
end)

refused("it gives self to a function that may use links", function (self)
  while not link.empty(self.input.input) do
    local p = link.receive(self.input.input)
    rawset(self, "last", p.length)
    link.transmit(self.output.output, p)
  end
end)

refused("'p' is declared twice", function (self)
  while not link.empty(self.input.input) do
    local p = link.receive(self.input.input)
    for p = 1, 2 do self.sum = p end -- luacheck: ignore
    link.transmit(self.output.output, p)
  end
end)

local function pass(input, output, n, most)
  for _ = 1, n do
    local p = link.receive(input)
    if p.length < most then link.transmit(output, p) else packet.free(p) end
  end
end

refused("it hands on more than itself, its links and a number of packets",
  function (self)
    local input = self.input.input
    pass(input, self.output.output, link.nreadable(input), self.most)
  end)

refused("it sends to a link that isn't one of its outputs by name", function (self)
  for _ = 1, link.nreadable(self.input.input) do
    local p = link.receive(self.input.input)
    link.transmit(self.other, p)
  end
end)

refused("its later() uses links in line", forward,
  {later = function (self) link.transmit(self.output.output, self.kept) end})

local function send(app, p) link.transmit(app.output.output, p) end

refused("its handle() passes on what it is given first in line", function (self)
  while not link.empty(self.input.input) do
    local p = link.receive(self.input.input)
    self:handle(p)
  end
end, {handle = function (self, p) send(self, p) end})

refused("its class finds methods by a function", forward,
  {new = function (self)
    return setmetatable({push = self.push}, {__index = function () end})
  end})

refused("no link leaves its output 'other'", function (self)
  while not link.empty(self.input.input) do
    local p = link.receive(self.input.input)
    if p.length == 1 then
      link.transmit(self.output.other, p)
    else
      link.transmit(self.output.output, p)
    end
  end
end)

describe("an app of Snabb's form isn't fused if", function ()
  after_each(function () engine.configure(config.new()) end)

  for why, case in pairs(REFUSED) do
    it(why, function ()
      local fields = {push = case[1]}
      for key, value in pairs(case[2]) do fields[key] = value end
      local said = reason(class(fields))
      assert.is_truthy(said:find("its push() isn't lifted: " .. why, 1, true), said)
    end)
  end

  it("its source has changed", function ()
    local file = os.tmpname()
    finally(function () os.remove(file) end)
    local text = [[
      local link = require("core.link")
      return function (self)
        while not link.empty(self.input.input) do
          local p = link.receive(self.input.input)
          p.data[0] = 1
          link.transmit(self.output.output, p)
        end
      end]]
    local function write(what)
      local f = assert(io.open(file, "w"))
      f:write(what)
      f:close()
    end
    write(text)
    local push = dofile(file)
    write((text:gsub("= 1", "= 2")))
    assert.matches("its source has changed", reason(class{push = push}))
    write(text)
    run_anew({a = {class{push = dofile(file)}}, b = {regions.Pass}},
      {"in.x -> a.input", "a.output -> b.input", "b.output -> out.x"})
    assert.equal(1, #engine.regions)
  end)

  local Fwd = class{push = forward}

  it("its source is a pipe", function ()
    local pipe = os.tmpname()
    os.remove(pipe)
    finally(function () os.remove(pipe) end)
    assert.is_true(process.succeeds("mkfifo " .. pipe))
    local push = assert(loadstring([[
      local link = require("core.link")
      return function (self)
        while not link.empty(self.input.input) do
          link.transmit(self.output.output, link.receive(self.input.input))
        end
      end]], "@" .. pipe))()
    assert.matches("its source isn't a file", reason(class{push = push}))
  end)

  it("link.receive has been replaced", function ()
    local original = link.receive
    finally(function () link.receive = original end)
    link.receive = function (l) return original(l) end
    assert.matches("its loop doesn't begin with", reason(class{push = function (self)
      while not link.empty(self.input.input) do
        local p = link.receive(self.input.input)
        link.transmit(self.output.output, p)
      end
    end}))
  end)

  it("no neighbouring app or port is fused", function ()
    run_anew({a = {Fwd}}, {"in.x -> a.input", "a.output -> out.x"})
    assert.matches("no neighbouring app or port is fused", engine.not_fused.a)
  end)

  it("it is part of a loop", function ()
    run_anew({a = {regions.class{inputs = {"input", "back"},
      process = function (_, p) return p end}}, b = {Fwd}},
      {"in.x -> a.input", "a.output -> b.input", "b.output -> a.back"})
    assert.matches("it is part of a loop", engine.not_fused.b)
  end)

  it("its packets meet those of another path", function ()
    local Halve = class{outputs = {"left", "right"}, process = function (_, p)
      return p, 1 + p.length % 2
    end}
    local links = {"in.x -> halve.input", "halve.left -> a.input",
      "halve.right -> b.input", "a.output -> join.a", "b.output -> join.b",
      "join.output -> out.x"}
    local kinds = {halve = {Halve}, a = {Fwd}, b = {Fwd}, join = {regions.Pass}}
    run_anew(kinds, links)
    assert.matches("packets that it sends meet", engine.not_fused.a)
    local function sent()
      texts.send("in.x -> halve.input", {"aa", "b", "cc", "d"})
      engine.breathe()
      return texts.take("join.output -> out.x")
    end
    local as_lifted = sent()
    engine.lift = false
    finally(function () engine.lift = true end)
    run_anew(kinds, links)
    assert.same(sent(), as_lifted)
  end)

  it("engine.lift is false", function ()
    engine.lift = false
    finally(function () engine.lift = true end)
    assert.equal("it has no process()", reason(Fwd))
  end)

  it("anything of this holds, and says so once", function ()
    local apps, links = {a = {Fwd}}, {"in.x -> a.input", "a.output -> out.x"}
    run_anew(apps, links)
    local why = engine.not_fused.a
    regions.run(apps, links)
    assert.equal(why, engine.not_fused.a)
    engine.fuse = false
    regions.run(apps, links)
    engine.fuse = true
    regions.run(apps, links)
    assert.equal(why, engine.not_fused.a)
  end)

  it("it has several inputs", function ()
    local apps, reasons = lift.all(
      {a = {push = Fwd.push, input = {}, output = {}, appname = "a"}, y = {}},
      {["x.o -> a.input"] = 1, ["x.p -> a.other"] = 1, ["a.output -> y.i"] = 1},
      function (app) return app.push end, function () return true end)
    assert.is_nil(apps.a.lifted_from)
    assert.equal("it needs exactly one input link", reasons.a)
  end)

  it("its fields are replaced for another argument, and no source is read", function ()
    local Kept = setmetatable({reconfig_keeps = {}}, {__index = Fwd})
    Kept.__index = Kept
    local app = setmetatable({input = {}, output = {}, appname = "a"}, Kept)
    renewal.give(app, Kept)
    local of = syntax.of
    finally(function () syntax.of = of end)
    function syntax.of() error("it was read") end
    local _, reasons = lift.all({a = app, x = {}, y = {}},
      {["x.o -> a.input"] = 1, ["a.output -> y.i"] = 1},
      function (it) return it.push end, function () return true end)
    assert.equal("its fields are replaced when it gets another argument "
      .. "(reconfig_keeps)", reasons.a)
  end)
end)


-- SPDX-License-Identifier: Apache-2.0
-- Breaths in a row of graphs with several calls: a bridge of two ports, one region each
-- way.

local config = require("core.config")
local engine = require("core.app")
local graph = require("core.engine.graph")
local port = require("apps.port.port")
local texts = require("testing.texts")
local regions = require("testing.regions")

local totals = texts.totals

local BURST, MOST = 4, 32
local SIDES = {a = "b", b = "a"}
local names -- of apps, in the order in which they were called

local Note = {}
Note.__index = Note
function Note:new(name) return setmetatable({name = name, n = 0}, self) end
function Note:process(p)
  self.n = self.n + 1
  if names and names[#names] ~= self.name then names[#names + 1] = self.name end
  if self.fails and self.n % self.fails == 0 then error(self.name .. " failed") end
  return p
end

local Push = {}
Push.__index = Push
function Push:new() return setmetatable({}, self) end
function Push:push()
  if self.fails then error("a push failed") end
  for _ = 1, link.nreadable(self.input.i) do
    link.transmit(self.output.output, link.receive(self.input.i))
  end
end

local function into(side) return ("%s.output -> from_%s.i"):format(side, side) end
local function out_of(side)
  return ("from_%s.output -> %s.input"):format(side, SIDES[side])
end

local function bridge(burst, class)
  local c = config.new()
  for side in pairs(SIDES) do
    config.app(c, side, port.Port, {port = "null", burst = burst})
    config.app(c, "from_" .. side, side == "b" and class or Note, side)
  end
  for side in pairs(SIDES) do
    config.link(c, into(side))
    config.link(c, out_of(side))
  end
  return c
end

describe("a row of breaths", function ()
  local take, grow = regions.breaths()

  local function configure(c)
    engine.configure(c)
    take(1)
    for _ = 1, 8 do take(1e-3) end
  end

  local function received(side)
    return tonumber(engine.app_table[side].port.rxpackets)
  end

  local function check_sums()
    for side, other in pairs(SIDES) do
      local n = received(side)
      assert.same({n, n * 60, n, n * 60, 0}, totals(into(side)))
      assert.same({n, n * 60, n, n * 60, 0}, totals(out_of(side)))
      assert.equal(n, tonumber(engine.app_table[other].port.txpackets))
    end
  end

  after_each(function ()
    names, engine.on_error = nil, "stop"
    engine.configure(config.new())
  end)

  for name, class in pairs{["two regions"] = Note, ["a region and a push()"] = Push} do
    it("makes each call in each breath: " .. name, function ()
      engine.lift = false
      configure(bridge(BURST, class))
      grow()
      local a, b = received("a"), received("b")
      assert.equal(MOST, take(1e-7))
      assert.equal(MOST * BURST, received("a") - a)
      assert.equal(MOST * BURST, received("b") - b)
      check_sums()
    end)
  end

  it("keeps the order of the calls", function ()
    configure(bridge(BURST, Note))
    grow()
    local first = graph.list_calls().pushes[1].app == "from_a" and "a" or "b"
    names = {}
    assert.equal(MOST, take(1e-7))
    assert.equal(2 * MOST, #names)
    assert.equal(first, names[1])
  end)

  it("is the same function while the calls are the same", function ()
    configure(bridge(BURST, Note))
    local f = graph.calls.pushes.row
    assert.is_function(f)
    engine.configure(bridge(BURST, Note))
    assert.equal(f, graph.calls.pushes.row)
    engine.configure(bridge(8, Note))
    assert.not_equal(f, graph.calls.pushes.row)
    engine.configure(config.new())
    assert.is_nil(graph.calls.pushes.row)
  end)

  it("isn't made of many calls", function ()
    local c = config.new()
    for i = 1, 17 do
      config.app(c, "in" .. i, port.Port, {port = "null", burst = BURST})
      config.app(c, "x" .. i, Note, i)
      config.link(c, ("in%d.output -> x%d.i"):format(i, i))
      config.link(c, ("x%d.output -> in%d.input"):format(i, i))
      configure(c)
      assert.equal(i <= 8, graph.calls.pushes.row ~= nil)
      local name = "in" .. i
      local n = received(name)
      assert.equal(BURST * take(1e-7), received(name) - n)
    end
  end)

  for name, fails in pairs{["the first"] = "a", ["the second"] = "b"} do
    it("is put in order after an error in a region: " .. name, function ()
      configure(bridge(BURST, Note))
      local app = engine.app_table["from_" .. fails]
      app.fails = 1001
      local went_on = 0
      engine.on_error = "restart"
      engine.main{no_report = true, in_rows = true, done = function ()
        local new = engine.app_table["from_" .. fails]
        if new ~= app then went_on = went_on + new.n end
        return went_on > 0 and received(fails) > 4000
      end}
      local n = received(fails)
      assert.same({n, n * 60, n, n * 60, 0}, totals(into(fails)))
      assert.same({n - 1, (n - 1) * 60, n - 1, (n - 1) * 60, 0}, totals(out_of(fails)))
      local other = SIDES[fails]
      assert.equal(received(other), totals(out_of(other))[1])
    end)
  end

  it("names the app whose push() raised an error", function ()
    engine.lift = false
    configure(bridge(BURST, Push))
    grow()
    engine.app_table.from_b.fails = true
    local ok, err = pcall(engine.main, {no_report = true, duration = 5})
    assert.is_false(ok)
    assert.matches("^app 'from_b': in push%(%): .*a push failed", tostring(err))
  end)

  it("says which packets LuaJIT compiles a region's loop for", function ()
    engine.configure(bridge(16, Note))
    local started, stopped = {}, {}
    for i, region in ipairs(engine.regions) do
      local shape = region.shapes[1]
      region.shapes[1] = {
        started = function () started[i] = true; shape:started() end,
        stopped = function (_, kind)
          stopped[i] = stopped[i] or kind == "loop"
          shape:stopped(kind)
        end}
      jit.off(region.shapes[1].started)
      jit.off(region.shapes[1].stopped)
    end
    assert.equal(2, #engine.regions)
    local rows = 0
    repeat -- LuaJIT puts off a loop whose recording it gave up, by chance
      take(1e-7)
      rows = rows + 1
    until stopped[1] and stopped[2] or rows == 100000
    assert.same({true, true}, started)
    assert.same({true, true}, stopped)
  end)
end)

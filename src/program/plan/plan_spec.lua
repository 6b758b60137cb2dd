-- SPDX-License-Identifier: Apache-2.0

local cjson = require("cjson")
local testing = require("testing.support")

-- Two per-packet apps between two null ports, apps of other kinds beside them, and what
-- would betray that the engine ran.
local PROGRAM = [[
  local Port = require("apps.port.port").Port
  local function class(methods)
    function methods:new() return setmetatable({}, {__index = methods}) end
    return methods
  end
  local Pass = class{process = function (_, p) return p end}
  local Split = class{outputs = {"output", "other"},
    process = function (_, p) return p, p.length > 100 and 2 or 1 end}
  local Snabb = class{pull = function () print("pulled") end,
                      push = function () print("pushed") end}
  local c = config.new()
  config.app(c, "from", Port, "null")
  config.app(c, "to", Port, "null")
  config.app(c, "pass", Pass)
  config.app(c, "split", Split)
  config.app(c, "old", Snabb)
  config.app(c, "bulk", class{process_burst = function () print("a burst") end})
  config.app(c, "both", class{process = Pass.process, push = Snabb.push})
  config.link(c, "from.output -> pass.input")
  config.link(c, "pass.output -> split.input")
  config.link(c, "split.output -> to.input")
  config.link(c, "split.other -> old.input")
  config.link(c, "old.output -> bulk.input")
  config.link(c, "bulk.output -> both.input")
  engine.configure(c)
  if ... == "engine" then engine.main{duration = 10} print("after") end]]

-- What plan says of an app between a null port's output and its input; `class` is the
-- text of its class.
local function planned(class)
  return testing.script([[
    local App = ]] .. class .. [[

    function App:new() return setmetatable({}, {__index = App}) end
    local c = config.new()
    config.app(c, "port", require("apps.port.port").Port, "null")
    config.app(c, "app", App)
    config.link(c, "port.output -> app.input")
    config.link(c, "app.output -> port.input")
    engine.configure(c)
    engine.main{duration = 1}]], {"plan", "--no-source"})
end

describe("plan", function ()
  it("shows regions, what isn't fused, and the calls; nothing runs", function ()
    local said, status = testing.script(PROGRAM, {"plan", "--no-source"}, {"engine"})
    assert.equal([[
region 1: 2 apps
  apps: pass, split
  entry: from.output -> pass.input (the port itself)
  exit: split.other -> old.input
  exit: split.output -> to.input (the port itself)
not fused: both: it has pull() or push() as well as process(); ]]
      .. [[its push() isn't lifted: no neighbouring app or port is fused
not fused: bulk: it is a bulk app (process_burst)
not fused: from, old, to: it has no process()
a breath calls:
  old: pull
  pass: its region, from from.output -> pass.input
  old: push, from split.other -> old.input
  bulk: process_burst, from old.output -> bulk.input
  both: push, from bulk.output -> both.input
]], said)
    assert.equal(0, status)
  end)

  it("says how many packets a region takes at once, if fewer than a burst", function ()
    local said = planned("{at_once = 32, process = function (_, p) return p end}")
    assert.matches("  entry: port.output -> app.input (the port itself, 32 packets at "
      .. "once)\n  exit: app.output -> port.input (the port itself)\n", said, 1, true)
  end)

  it("names apps of Snabb's form that are fused", function ()
    local said, status = planned[[{push = function (self)
        while not link.empty(self.input.input) do
          local p = link.receive(self.input.input)
          link.transmit(self.output.output, p)
        end
      end}]]
    assert.matches("  of these with push%(%), which is run packet by packet: "
      .. "app\n", said)
    assert.equal(0, status)
  end)

  it("shows the source too, unless told not to", function ()
    local said, status = testing.script(PROGRAM, {"plan"}, {"engine"})
    assert.equal(0, status)
    assert.matches("\n    local function loop1%(n, step, tobit, to1, to2%)\n", said)
    assert.matches("process%d%(app%d, p, input%) %-%- pass\n", said)
    local source = said:match("\n  source:\n(.-)not fused:"):gsub("\n    ", "\n")
    assert.is_function(loadstring(source))
  end)

  it("says when nothing is fused by choice", function ()
    local program = "engine.fuse = false\n" .. PROGRAM
    local said = testing.script(program, {"plan"}, {"engine"})
    assert.matches("^not fused: [%w, ]+: fusing is off %(%-%-no%-fuse, engine.fuse%)\n"
      .. "a breath calls:\n", said)
  end)

  it("says when there is no plan", function ()
    local said, status = testing.script(PROGRAM, {"plan"})
    assert.equal("perigee: run ended without starting the engine: there is no plan\n",
      said)
    assert.equal(1, status)
  end)

  it("tells what is wrong with its command line", function ()
    for _, case in ipairs{
      {{}, "plan needs a program: perigee plan PROGRAM ARGS"},
      {{"nosuch"}, "there is no program 'nosuch'"},
      {{"--fast", "echo"}, "unknown option '--fast'; see `perigee plan --help`"},
      {{"echo"}, "missing argument 'port'"},
    } do
      local said, status = testing.perigee{"plan", unpack(case[1])}
      assert.matches(case[2], said, 1, true)
      assert.equal(2, status)
    end
  end)

  it("draws the graph, without what the program prints #slow", function ()
    local function plan(option)
      local said, status = testing.script("print('hello')\n" .. PROGRAM,
        {"plan", option}, {"engine"})
      assert.equal(0, status)
      return (said:gsub("hello\n", "")) -- (said has standard error, too)
    end
    local graph = cjson.decode(plan("--json"))
    assert.equal(7, #graph.apps)
    assert.equal(6, #graph.links)
    assert.same({{number = 1, apps = {"pass", "split"}}}, graph.regions)
    local by_name = {}
    for _, app in ipairs(graph.apps) do by_name[app.name] = app end
    assert.same({name = "from", class = "Port", port = "null", pulls = true,
      why = "it has no process()"}, by_name.from)
    assert.equal(1, by_name.pass.region)
    assert.same({link = "split.other -> old.input", from = "split", output = "other",
      to = "old", input = "input"}, graph.links[5])
    assert.matches('^<svg .*data%-app="both".*</svg>\n$', plan("--svg"))
    assert.matches('^digraph perigee {.*"split" %-> "old" %[taillabel="other"',
      plan("--dot"))
  end)
end)

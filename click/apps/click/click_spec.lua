-- SPDX-License-Identifier: Apache-2.0
local Click = require("apps.click.click").Click
local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local engine = require("core.app")
local packet = require("core.packet")
local testing = require("testing.support")

-- One packet a breath, and what comes back.
local Feed = {}
Feed.__index = Feed
function Feed:new() return setmetatable({caught = {}}, self) end
function Feed:pull()
  if self.output.output and self.next then
    link.transmit(self.output.output, packet.from_string(self.next))
    self.next = nil
  end
end
function Feed:push()
  for _, l in ipairs(self.input) do
    while not link.empty(l) do
      local p = link.receive(l)
      table.insert(self.caught, require("ffi").string(p.data, p.length))
      packet.free(p)
    end
  end
end

local function graph(arg, links)
  local c = config.new()
  config.app(c, "feed", Feed)
  config.app(c, "fw", Click, arg)
  links = links or {"feed.output -> fw.input", "fw.output -> feed.back"}
  for _, spec in ipairs(links) do
    config.link(c, spec)
  end
  return c
end

local function send(text)
  local feed = engine.app_table.feed
  feed.next, feed.caught = text, {}
  for _ = 1, 4 do engine.breathe() end
  return table.concat(feed.caught, " ")
end

local function problem(arg, links)
  local ok, err = pcall(engine.configure, graph(arg, links))
  assert.is_false(ok)
  return tostring(err)
end

after_each(function () engine.stop() end)

describe("Click", function ()
  it("is a configuration in a graph, with queues and all", function ()
    engine.configure(graph{text = "input -> Strip(1) -> Queue -> Unqueue -> output"})
    assert.equal("bc", send("abc"))
  end)

  it("has as many links as the configuration says", function ()
    engine.configure(graph({
      text = "input -> Strip(1) -> [1] output; input [1] -> Discard; Idle -> output",
    }, {"feed.output -> fw.input0", "fw.output1 -> feed.back"}))
    assert.equal("bc", send("abc"))
  end)

  it("has its elements as apps", function ()
    engine.configure(graph{text = "input -> s :: Strip(1) -> output"})
    send("abc")
    assert.truthy(engine.app_table["fw/s"])
    assert.truthy(engine.link_table["feed.output -> fw/input.input0"])
    local region = engine.regions[1].description
    assert.same({"feed.output -> fw/input.input0"}, region.entries)
    assert.same({"fw/input", "fw/s", "fw/output"}, region.apps)
  end)

  it("has handlers", function ()
    engine.configure(graph{text = "input -> c :: Counter -> s :: Switch(0) -> output;"
      .. "s [1] -> Discard"})
    local fw = engine.app_table.fw
    assert.equal("x", send("x"))
    assert.equal("1", fw:read("c.count"))
    assert.is_true(fw:write("s.switch", "1"))
    assert.equal("", send("x"))
    assert.same({nil, "no 'c.cuont' read handler"}, {fw:read("c.cuont")})
  end)

  it("has variables, and stops", function ()
    engine.configure(graph{text = "input -> Strip($n) -> output; DriverManager(stop)",
      variables = {n = "2"}})
    assert.equal("c", send("abc"))
    assert.is_true(engine.app_table.fw:ended())
  end)

  it("goes on when nothing changes, and hands its state over when it does", function ()
    local text = "input -> c :: Counter -> q :: Queue(%s) -> Unqueue(ACTIVE false)"
      .. " -> output"
    engine.configure(graph{text = text:format("10")})
    send("a")
    local element = engine.app_table["fw/c"]
    engine.configure(graph{text = text:format("10")})
    assert.equal(element, engine.app_table["fw/c"])
    engine.configure(graph{text = text:format("20")})
    send("b")
    local fw = engine.app_table.fw
    assert.not_equal(element, engine.app_table["fw/c"])
    assert.equal("2", fw:read("c.count"))
    assert.equal("2", fw:read("q.length"))
  end)

  it("is read from a file", function ()
    local path = testing.temporary("input\n  -> Strip(1)\n  -> output")
    engine.configure(graph{file = path})
    assert.equal("bc", send("abc"))
    os.remove(path)
    assert.truthy(problem{file = path}:find("No such file or directory", 1, true))
  end)

  it("is refused in sentences, and the former one runs on", function ()
    engine.configure(graph{text = "input -> output"})
    assert.equal("app 'fw': fw:1: undeclared element 'Strp'\n"
      .. "fw:1:   did you mean 'Strip'?", problem{text = "input -> Strp -> output"})
    assert.equal("a Click app needs a file or a text, and not both", problem{})
    assert.equal("link 'fw.output1 -> feed.more': app 'fw' has no output 'output1'",
      problem({text = "input -> output"}, {"fw.output1 -> feed.more"}))
    assert.equal("abc", send("abc"))
  end)
end)

describe("The element Perigee", function ()
  it("is an app, between elements", function ()
    engine.configure(graph{
      text = "input -> Strip(1) -> Perigee(apps.basic.basic_apps.Join) -> output"})
    assert.equal("bc", send("abc"))
    assert.equal(basic.Join, getmetatable(engine.app_table["fw/Perigee@4"]))
  end)

  it("is refused where the class can't be", function ()
    local function said(config_text)
      return problem{text = ("input -> Perigee(%s) -> output"):format(config_text)}
        :match("\n%s*(.-)\n") or "?"
    end
    assert.equal("expected 'apps.MODULE.CLASS'", said(""))
    assert.equal("there is no module 'apps.nowhere'", said("apps.nowhere.Class"))
    assert.equal("the module 'apps.basic.basic_apps' has no class 'Jion'",
      said("apps.basic.basic_apps.Jion"))
    assert.truthy(said("apps.basic.basic_apps.Join, {"):find("^argument:1: "))
  end)
end)

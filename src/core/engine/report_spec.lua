-- SPDX-License-Identifier: Apache-2.0

local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local counter = require("core.counter")
local counters = require("core.engine.counters").counters
local engine = require("core.app")
local histogram = require("core.histogram")
local link = require("core.link")
local packet = require("core.packet")
local printed = require("testing.support").printed
local report = require("core.engine.report")

local function number(text)
  return tonumber((text:gsub(",", "")))
end

describe("report.si", function ()
  it("chooses the prefix", function ()
    for value, text in pairs{[0] = "0 pps", [999] = "999 pps", [1000] = "1.000 kpps",
                             [1234567] = "1.235 Mpps", [14.88e6] = "14.880 Mpps",
                             [2e11] = "200.000 Gpps"} do
      assert.equal(text, report.si(value, "pps"))
    end
  end)
end)

describe("the reports", function ()
  -- What apps have dropped that were removed before, also by other specs.
  local function forget_removed()
    local removed = require("core.fuse.drops").of_removed()
    for name in pairs(removed) do removed[name] = nil end
  end

  before_each(function ()
    engine.configure(config.new())
    forget_removed()
  end)

  local Idle = {new = function () return {} end}
  local Telling = {new = function ()
    return {report = function (self) print("  I am " .. self.appname) end}
  end}

  after_each(function () engine.configure(config.new()) end)

  it("blame an app before the loop of its region", function ()
    local function cause(line, reason, ...)
      return {file = "x.lua", line = line, reason = reason, apps = {...},
              region = "region of x", given_up = {"x.lua:6"}}
    end
    assert.same({"jit: app 'x' is slowed down at x.lua:6: NYI (and 1 more); "
      .. "see `perigee doctor`"},
      printed(report.jit, {cause(35, "leaving loop"), cause(6, "NYI", "x")}))
    assert.same({}, printed(report.jit, {}))
  end)

  it("name apps and links in the order people count in", function ()
    local c = config.new()
    for _, name in ipairs{"fwd10", "fwd2", "fwd1"} do config.app(c, name, Telling) end
    config.link(c, "fwd2.output -> fwd10.input")
    config.link(c, "fwd10.output -> fwd1.input")
    engine.configure(c)
    assert.same({"app report:", "fwd1", "  I am fwd1", "fwd2", "  I am fwd2",
      "fwd10", "  I am fwd10"}, printed(engine.report_apps))
    local lines = printed(engine.report_links)
    assert.matches("fwd2.output %-> fwd10.input", lines[2])
    assert.matches("fwd10.output %-> fwd1.input", lines[3])
  end)

  local function run()
    local c = config.new()
    config.app(c, "source", basic.Source, 100)
    config.app(c, "tee", basic.Tee)
    config.app(c, "sink", basic.Sink)
    config.app(c, "full", Idle)
    config.app(c, "teller", Telling)
    config.link(c, "source.output -> tee.input")
    config.link(c, "tee.a -> sink.input")
    config.link(c, "tee.b -> full.input")
    engine.configure(c)
    for _ = 1, 20 do engine.breathe() end
  end

  it("of links has their packets, loss rates and drops", function ()
    run()
    local lines = printed(engine.report_links)
    assert.equal("link report:", lines[1])
    assert.equal("               2,040 sent on source.output -> tee.input "
      .. "(loss rate: 0%)", lines[2])
    assert.equal("               1,023 sent on tee.b -> full.input "
      .. "(loss rate: 49%)  1,017 dropped: link full", lines[4])
    assert.equal(4, #lines)
  end)

  it("of apps has those that report", function ()
    run()
    assert.same({"app report:", "teller", "  I am teller"}, printed(engine.report_apps))
  end)

  it("of apps has the counters of those that don't report", function ()
    local Counting = {
      shm = {dropped = {counter}, hits = {counter}, delays = {histogram, 1e-6, 1}},
      new = function (class) return setmetatable({shm = class.shm}, {}) end,
    }
    local c = config.new()
    config.app(c, "counting", Counting)
    engine.configure(c)
    counter.add(engine.app_table.counting.shm.hits, 1234)
    assert.same({"app report:", "counting", "  dropped 0  hits 1,234"},
      printed(engine.report_apps))
  end)

  it("of apps has their drops by name, whether they report or not", function ()
    local Picky = {drops = {"too long", "odd"}}
    Picky.__index = Picky
    function Picky:new(report_) return setmetatable({report = report_}, Picky) end
    function Picky.process(_, p) return nil, p.length end
    for _, fused in ipairs{true, false} do
      engine.fuse = fused
      local c = config.new()
      config.app(c, "in", Idle)
      config.app(c, "a", Picky)
      config.app(c, "b", Picky, function () print("  hello") end)
      config.link(c, "in.a -> a.input")
      config.link(c, "in.b -> b.input")
      engine.configure(c)
      for _, length in ipairs{1, 2, 2, 3} do
        local p = packet.resize(packet.allocate(), length)
        link.transmit(engine.link_table["in.a -> a.input"], p)
      end
      link.transmit(engine.link_table["in.b -> b.input"], packet.from_string("xx"))
      engine.breathe()
      assert.same({"app report:", "a", "  1 dropped: dropped", "  2 dropped: odd",
        "  1 dropped: too long", "b", "  hello", "  1 dropped: odd"},
        printed(engine.report_apps))
      engine.configure(config.new())
      assert.same({"app report:", "a (removed)", "  1 dropped: dropped",
        "  2 dropped: odd", "  1 dropped: too long", "b (removed)",
        "  1 dropped: odd"}, printed(engine.report_apps))
      forget_removed()
    end
    engine.fuse = true
  end)

  it("of packets balances", function ()
    run()
    local line = printed(engine.report, {showpackets = true})[1]
    local n = {}
    for part, value in line:gmatch("([%a ]+) ([%d,]+)") do
      n[part:match("^%s*(.*)$")] = number(value)
    end
    assert.is_true(n.allocated > 0)
    assert.equal(n.received + n.allocated,
      n.sent + n.freed + n["dropped by ports"] + n["in links"] + n["held by apps"])
    assert.equal(1023, n["in links"])
  end)

  it("of load counts from the last one", function ()
    run()
    printed(engine.report_load)
    local idle = printed(engine.report_load)[1]
    assert.matches("^load: 0 pps  0 bit/s on the wire  %d+%% CPU  %- cycles/packet  "
      .. "0.0 packets/breath  0 byte/packet", idle)
    for _ = 1, 10 do engine.breathe() end
    local busy = printed(engine.report_load)[1]
    assert.matches("CPU  [%d.]+ cycles/packet  ", busy)
    assert.matches("204.0 packets/breath  100 byte/packet", busy)
    counter.add(counters.sleeps, 1200)
    counter.add(counters.wakeups, 3)
    assert.equal("slept 1,200 times until something came or was due; it came 3 times",
      printed(engine.report_load)[2])
    assert.is_nil(table.concat(printed(engine.report_load)):find("slept"))
  end)

  it("are what is asked for, or all", function ()
    run()
    local function has(options)
      local lines, parts = printed(engine.report, options), ""
      local text = "\n" .. table.concat(lines, "\n")
      for _, part in ipairs{"load: ", "link report:", "app report:", "packets: "} do
        parts = parts .. (text:find("\n" .. part, 1, true) and part:sub(1, 1) or ".")
      end
      return parts
    end
    assert.equal("llap", has(nil))
    assert.equal("l...", has{showload = true})
    assert.equal(".l..", has{showlinks = true})
    assert.equal("..a.", has{showapps = true})
    assert.equal("...p", has{showpackets = true})
    assert.equal("....", has{})
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
-- Figures from made-up samples, and how they are shown.

local histogram = require("core.histogram")
local sample = require("lib.observe.sample")
local sparkline = require("program.top.sparkline")
local terminal = require("program.top.terminal")
local view = require("program.top.view")

local INSTANCE = {pid = 12, program = "run", name = "router"}

-- A sample with these counters at `time`; breaths took `latency` seconds.
local function at(time, cpu, counters, latency)
  local s = {time = time, cpu = cpu, uptime = time, objects = {}}
  for name, value in pairs(counters) do
    s.objects[name] = {kind = "counter", value = 0ULL + value}
  end
  if latency then
    local h = histogram.new(1e-6, 1)
    for _ = 1, 10 do h:add(latency) end
    s.objects["engine/latency"] = {kind = "histogram", value = h}
  end
  return s
end

local function graph(scale)
  return {
    ["engine/frees"] = 1000 * scale, ["engine/freebytes"] = 60000 * scale,
    ["engine/freebits"] = 672000 * scale, ["engine/breaths"] = 10 * scale,
    ["engine/sleeps"] = 8 * scale, ["engine/wakeups"] = 6 * scale,
    ["engine/configs"] = 1, ["engine/jit/traces"] = 7, ["engine/jit/problems"] = 1,
    ["engine/jit/apps/slow"] = 3, ["engine/cycles/tasks/slow"] = 50000 * scale,
    ["engine/cycles/packets"] = 500 * scale, ["engine/cycles/send"] = 8000 * scale,
    ["engine/cycles/core_hz"] = 3600000000, ["engine/cycles/tsc_hz"] = 2600000000,
    ["workers/3/engine/breaths"] = 30 * scale, ["workers/3/engine/frees"] = 7 * scale,
    ["workers/3/engine/sleeps"] = 4 * scale, ["workers/3/engine/wakeups"] = 4 * scale,
    ["workers/3/engine/cycles/packets"] = 10 * scale,
    ["workers/3/engine/jit/traces"] = 5,
    ["workers/3/engine/cycles/empty"] = 90 * scale,
    ["workers/3/engine/jit/apps/far"] = 1,
    ["apps/slow/drop_TTL_expired"] = 40 * scale, ["apps/slow/hits"] = 5 * scale,
    ["apps/slow/rxerrors"] = 40 * scale, ["apps/slow/dtime"] = 77,
    ["apps/a/rxerrors"] = 6 * scale, ["apps/a/length_errors"] = 4 * scale,
    ["apps/a/cookie_errors"] = 2 * scale,
    ["links/a.output -> slow.input/txpackets"] = 1100 * scale,
    ["links/a.output -> slow.input/rxpackets"] = 1100 * scale - 3,
    ["links/a.output -> slow.input/txbytes"] = 66000 * scale,
    ["links/a.output -> slow.input/txdrop"] = 100 * scale,
    ["links/slow.output -> b.input/txpackets"] = 900 * scale,
    ["links/slow.output -> b.input/rxpackets"] = 900 * scale,
    ["links/slow.output -> b.input/txbytes"] = 54000 * scale,
    ["links/slow.output -> b.input/txdrop"] = 0,
  }
end

local function by_name(list)
  local found = {}
  for _, row in ipairs(list) do found[row.name] = row end
  return found
end

describe("top", function ()
  local f
  before_each(function ()
    f = sample.difference(at(10, 1, graph(1), 0.001), at(12, 2, graph(3), 0.001))
  end)

  it("works out rates", function ()
    assert.equal(2, f.seconds)
    assert.equal(1000, f.engine.pps)
    assert.equal(672000, f.engine.bits)
    assert.equal(0.5, f.engine.load)
    assert.equal(60, f.engine.size)
    assert.equal(100, f.engine.burst)
    assert.same({12, 10}, {f.engine.sleeps, f.engine.wakeups})
    local links = by_name(f.links)
    local l = links["a.output -> slow.input"]
    assert.same({1100, 100, 3, 8 * (66000 + 24 * 1100), "a", "slow"},
      {l.pps, l.drops, l.waiting, l.bits, l.from, l.to})
    local apps = by_name(f.apps)
    assert.same({1100, 900, 40, true}, {apps.slow.input, apps.slow.output,
      apps.slow.drops, apps.slow.interpreted})
    assert.same({0, 1100, 6}, {apps.a.input, apps.a.output, apps.a.drops})
    local drops = by_name(f.drops)
    assert.equal(120, drops["slow: TTL expired"].packets)
    assert.is_nil(drops["slow: rxerrors"]) -- the same packets
    assert.equal(40, by_name(f.others)["slow: rxerrors"].pps)
    assert.equal(300, drops["a.output -> slow.input: link full"].packets)
    assert.is_nil(drops["slow.output -> b.input: link full"])
    assert.equal(18, drops["a: rxerrors"].packets)
    assert.is_nil(drops["a: length errors"])
    assert.equal(4, by_name(f.others)["a: length_errors"].pps)
    local cycles = by_name(f.cycles)
    assert.same({100, 50000}, {cycles.slow.value, cycles.slow.pps})
    assert.same({16, 9, nil}, {cycles.send.value, cycles["cpu 3: empty"].value,
      cycles.packets})
    assert.equal(3.6e9, f.core_hz)
    assert.same({{name = "cpu 3", pps = 7, breaths = 30}}, f.workers)
    assert.equal(12, f.jit.traces)
    assert.is_true(apps.far.interpreted)
    assert.equal(5, by_name(f.others)["slow: hits"].pps)
    assert.is_nil(by_name(f.others)["slow: dtime"])
  end)

  it("shows tasks, devices and queues of what has no engine", function ()
    local function script(scale)
      return {
        ["tasks/1 load/cpu_ns"] = 5e8 * scale,
        ["devices/0/missed"] = 3 * scale,
        ["devices/0/rx/0/packets"] = 0, ["devices/0/rx/0/bytes"] = 0,
        ["devices/0/rx/0/dropped"] = 2 * scale,
        ["devices/0/tx/0/packets"] = 1000 * scale,
        ["devices/0/tx/0/bytes"] = 60000 * scale, ["devices/0/tx/0/dropped"] = 0,
        ["devices/0/tx/1/packets"] = 500 * scale,
        ["devices/0/tx/1/bytes"] = 30000 * scale, ["devices/0/tx/1/dropped"] = 0,
        ["devices/0/tx/0/limit"] = 0, ["devices/0/tx/1/limit"] = 1e6,
      }
    end
    local before, now = at(10, 1, script(1)), at(12, 2, script(3))
    now.ports = {["0"] = "null"}
    f = sample.difference(before, now)
    assert.same({{name = "1 load", pps = 0.5, load = 0.5, cpu = 1.5}}, f.tasks)
    local d, queue = f.devices[1], by_name(f.queues)["0 tx 0"]
    assert.same({"0 null", 0, 1500, 5}, {d.name, d.input, d.output, d.drops})
    assert.same({1000, 3000, 8 * 84000}, {queue.pps, queue.packets, queue.bits})
    assert.same({1500, 60}, {f.engine.pps, f.engine.size})
    local lines = view.lines(INSTANCE, f, "name")
    for _, line in ipairs(lines) do assert.is_true(#line <= 80, line) end
    local text = table.concat(lines, "\n")
    assert.not_matches("breath", text)
    for _, row in ipairs{"1 load +50%% +1.50 s", "0 null +0 +0 +1.50k +1.01M +5",
                         "0 tx 0 +1.00k +672k +0 +3,000",
                         "0 tx 1 +500 +336k +1.00M +0 +1,500"} do
      assert.matches("\n" .. row .. "\n?", text)
    end
  end)

  it("gives no cycles a packet where most breaths found none", function ()
    local busy, idle = graph(1), graph(3)
    idle["engine/breaths"], idle["engine/cycles/breaths"] = 1e6, 1e6
    f = sample.difference(at(10, 1, busy), at(12, 2, idle))
    assert.is_nil(f.engine.cycles)
    assert.is_nil(by_name(f.cycles).slow.value)
    local text = table.concat(view.lines(INSTANCE, f, "rate"), "\n")
    assert.matches("50%% CPU  %- cycles/packet", text)
    assert.matches("\nsleep   12/s  10/s ended as something came\n", text)
    assert.matches("\nslow +50.0k +%-\n", text)
  end)

  it("bears counters that come, go and start again", function ()
    f = sample.difference(at(10, 1, graph(3)), at(12, 1, graph(1)))
    assert.equal(0, f.engine.pps)
    assert.equal(0, f.links[1].pps)
    f = sample.difference(at(10, 1, {}), at(12, 1, graph(1)))
    assert.equal(500, f.engine.pps)
    f = sample.difference(at(10, 1, graph(1)), at(12, 1, {}))
    assert.same({}, f.links)
    assert.is_nil(f.jit)
    assert.is_true(#view.lines(INSTANCE, f, "rate") > 0)
  end)

  it("shows them in 80 columns", function ()
    local long = ("x"):rep(70)
    f.links[1].name = long .. ".output -> " .. long .. ".input"
    local lines = view.lines(INSTANCE, f, "rate")
    for _, line in ipairs(lines) do assert.is_true(#line <= 80, line) end
    local program = "moongen " .. long .. "/loops.lua"
    local first = view.lines({pid = 12, program = program}, f, "rate")[1]
    assert.equal(80, #first)
    assert.matches("/loops.lua  up 12s  over 2.00 s", first, 1, true)
    local text = table.concat(lines, "\n")
    for _, part in ipairs{
      "12 run [router]  up 12s  over 2.00 s", "load    1.00kpps  672kbit/s  50% CPU",
      "60 byte/packet", "slow: TTL expired", "interpreted",
      "packets are slowed down; see perigee doctor",
    } do
      assert.matches(part, text, 1, true)
    end
    assert.matches("\nslow +1.10k +900 +40 +interpreted\n", text)
    assert.matches("\nslow: TTL expired +40 +120\n", text)
    assert.matches("\nCYCLES OF THE TSC %(the core runs at 3.60GHz%) .*\nslow +50.0k "
      .. "+100.0\n", text)
    assert.matches("\ncpu 3 +7 +30\n", text)
  end)

  it("sorts by rate or by name", function ()
    local function order(kind)
      f.links = {}
      for name, pps in pairs{["f2.o -> f3.i"] = 5, ["f10.o -> f2.i"] = 7} do
        f.links[#f.links + 1] = {name = name, pps = pps, bits = 0, drops = 0,
                                 waiting = 0}
      end
      local text = table.concat(view.lines(INSTANCE, f, kind), "\n")
      return text:find("f2.o", 1, true) < text:find("f10.o", 1, true)
    end
    assert.is_true(order("name"))
    assert.is_false(order("rate"))
  end)

  it("sorts by drops, and shows what dropped first", function ()
    f.links = {}
    for name, drops in pairs{["a.o -> f.i"] = 5, ["b.o -> f.i"] = 7} do
      f.links[#f.links + 1] = {name = name, pps = 1, bits = 0, drops = drops,
                               waiting = 0}
    end
    local text = table.concat(view.lines(INSTANCE, f, "drops"), "\n")
    assert.is_true(text:find("b.o ->", 1, true) < text:find("a.o ->", 1, true))
    assert.is_true(text:find("DROPPED", 1, true) < text:find("APPS", 1, true))
  end)

  it("shows only what a filter is in", function ()
    local text = table.concat(view.lines(INSTANCE, f, "rate", {filter = "TTL EXP"}),
      "\n")
    assert.matches("\nslow: TTL expired +40 +120", text)
    assert.not_matches("LINKS", text)
    assert.matches("load    1.00kpps", text, 1, true)
    local several = {{INSTANCE, f}, {{pid = 5, program = "echo"}, f}}
    assert.same(2, #view.list(several, "rate", {filter = "ECHO"}))
    assert.matches("no instance has that", view.list(several, "rate",
      {filter = "%"})[1])
  end)

  it("draws the past as bars", function ()
    assert.same({"  ▁▅█", 10}, {sparkline.text({0, 5, 10}, 5, true)})
    assert.same({"_=#", 10}, {sparkline.text({99, 0, 5, 10}, 3, false)})
    assert.same({"__", 0}, {sparkline.text({0, 0}, 2, false)})
    local text = table.concat(view.lines(INSTANCE, f, "rate",
      {history = {pps = {1e3, 2e3}, drops = {0, 0}}}), "\n")
    assert.matches("\nhistory .* 2.00kpps\n", text)
    assert.not_matches("\ndrops ", text)
    for _, line in ipairs(view.HELP) do assert.is_true(#line <= 80) end
  end)

  it("cuts lines by characters", function ()
    assert.equal("\27[H▁▂\27[K\r\n\27[7mst\27[m\27[K\27[J",
      terminal.page({"▁▂▃"}, 1, "status", 2, 2))
  end)

  it("lists instances", function ()
    local lines = view.list({{INSTANCE, f}, {{pid = 5, program = "echo"}, f}}, "name")
    assert.matches("^INSTANCES +pps +bit/s +CPU +dropped/s +up$", lines[1])
    assert.matches("^12 run %[router%] +1.00k +672k +50%% +146 +12s$", lines[3])
  end)

  it("knows keys", function ()
    local keys, rest = {}, "q\27[B\27OA\27[5~\27[1;5Cs\27"
    while rest ~= "" do keys[#keys + 1], rest = terminal.parse(rest) end
    assert.same({"q", "down", "up", "page up", "unknown", "s", "escape"}, keys)
  end)

  it("draws a page of the lines", function ()
    local lines = {"one", "two", "three", "four", headings = {[2] = true}}
    assert.equal("\27[H\27[7mtw\27[m\27[K\r\nth\27[K\r\n\27[7mst\27[m\27[K\27[J",
      terminal.page(lines, 2, "status", 3, 2))
  end)
end)

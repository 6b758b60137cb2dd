-- SPDX-License-Identifier: Apache-2.0
-- Configurations of several CPUs under traffic: moving apps loses no packet and stops
-- nobody, and a configuration that is refused leaves all apps as they are.

local C = require("core.native")
local affinity = require("core.cpus.affinity")
local config = require("core.config")
local engine = require("core.app")
local flows = require("testing.flows")
local Port = require("apps.port.port").Port
local savefiles = require("testing.savefiles")
local workers = require("core.cpus.workers")

local cpus = affinity.cpus()
local FIRST, SECOND = cpus[1], cpus[2] or cpus[1] + 1
local PLACES = {FIRST, SECOND, false} -- false: the main thread
local FLOWS = 7

-- A chain that no packet is lost in while it runs.
local function chain(places)
  local c = config.new()
  config.app(c, "source", flows.Flows, {packets = 1e9, flows = FLOWS, burst = 50})
  config.app(c, "trusting", flows.Trusting)
  config.app(c, "a", flows.Pass)
  config.app(c, "check", flows.Check, {flows = FLOWS})
  config.link(c, "source.output -> trusting.input")
  config.link(c, "trusting.output -> a.input")
  config.link(c, "a.output -> check.input")
  for name, cpu in pairs(places) do
    if cpu then config.cpu(c, name, cpu) end
  end
  return c
end

local function run() engine.main{duration = 0.01, no_report = true} end

local function received() return flows.counted("check", "received") end

-- Run until more has been received than `before`, or for so long that it never will.
local function run_beyond(before)
  local ends = C.pg_monotonic() + 120
  engine.main{no_report = true, done = function ()
    return received() > before or C.pg_monotonic() > ends
  end}
  assert.is_true(received() > before)
end

describe("A configuration of several CPUs", function ()
  after_each(function () engine.configure(config.new()) end)

  -- Move the app so often, from place to place.
  local function check_moves(moving, times)
    local places = {source = FIRST, trusting = FIRST, a = SECOND, check = FIRST}
    for round = 0, times do
      places[moving] = PLACES[round % 3 + 1]
      engine.configure(chain(places))
      run()
    end
    local before = received()
    run()
    run_beyond(before)
    assert.equal(0, flows.counted("check", "lost"))
    assert.equal(0, flows.counted("check", "mixed_up"))
  end

  for _, moving in ipairs{"trusting", "a"} do
    it("moves app " .. moving .. " under traffic, and loses nothing #slow", function ()
      check_moves(moving, 7)
    end)
    it("moves app " .. moving .. " again and again #slow", function ()
      check_moves(moving, 60)
    end)
  end

  it("that is refused restarts no app that would have moved", function ()
    engine.configure(chain{source = FIRST, check = FIRST})
    run_beyond(1000)
    for _ = 1, 5 do
      local before = received()
      local bad = chain{source = SECOND, check = SECOND}
      config.app(bad, "odd", flows.Trusting, "broken")
      assert.is_false(pcall(engine.configure, bad))
      assert.is_true(received() >= before)
      run_beyond(before)
    end
    assert.equal(0, flows.counted("check", "lost"))
    assert.equal(0, flows.counted("check", "mixed_up"))
  end)

  it("leaves all as it was if an app raises while packets are passed on", function ()
    local armed = false
    local Armed = {}
    Armed.new = function (class) return setmetatable({}, {__index = class}) end
    function Armed:push()
      if armed then error("not now") end
      local input, output = self.input.input, self.output.output
      while not link.empty(input) do link.transmit(output, link.receive(input)) end
    end
    local function with(source, extra)
      local c = chain{source = source, trusting = FIRST, check = FIRST}
      config.app(c, "a", Armed)
      if extra then config.app(c, extra, flows.Pass) end
      return c
    end
    engine.configure(with(FIRST))
    run_beyond(1000)
    armed = true
    local ok, err = pcall(engine.configure, with(SECOND, "extra"))
    assert.is_false(ok)
    assert.matches("app 'a'.*not now", tostring(err))
    armed = false
    assert.same({}, require("core.shm").children("apps/extra"))
    engine.configure(with(FIRST, "other"))
    run_beyond(received())
    assert.equal(0, flows.counted("check", "lost"))
    assert.equal(0, flows.counted("check", "mixed_up"))
  end)

  local SERVERS = {"memif:%s,role=server", "vhost:%s", "virtio-user:%s,server=1"}
  for _, port in ipairs(SERVERS) do
    it("moves a port that serves a socket, " .. port:match("%w+"), function ()
      local path = os.tmpname()
      os.remove(path)
      for _, place in ipairs{false, FIRST, SECOND, FIRST, false} do
        local c = config.new()
        config.app(c, "port", Port, port:format(path))
        config.app(c, "end", flows.Pass)
        config.link(c, "port.output -> end.input")
        if place then config.cpu(c, "port", place) end
        engine.configure(c)
        run()
        assert.equal(place, workers.has("port") or false)
      end
    end)
  end

  -- A port from a file to a file, and an app that drops, in three places.
  local FRAMES = 3000
  local function frame(i) return ("%060d"):format(i) end

  local function with_files(rx, tx, port_at, app_at)
    local c = config.new()
    config.app(c, "port", Port, {port = ("pcap:rx=%s,tx=%s"):format(rx, tx), burst = 7})
    config.app(c, "thirds", flows.Thirds)
    config.link(c, "port.output -> thirds.input")
    config.link(c, "thirds.output -> port.input")
    if port_at then config.cpu(c, "port", port_at) end
    if app_at then config.cpu(c, "thirds", app_at) end
    return c
  end

  local function files()
    local little = savefiles.order("little")
    local bytes = {little:pcap_header{}}
    for i = 1, FRAMES do bytes[i + 1] = little:record(frame(i)) end
    local rx, tx = os.tmpname(), os.tmpname()
    savefiles.save(rx, table.concat(bytes))
    return rx, tx
  end

  -- How many packets came out of the port; each of them is as it was, and in order.
  local function written(tx)
    local last, n = 0, 0
    for _, p in ipairs(savefiles.packets(tx)) do
      local number = tonumber(p.data or p)
      assert.is_true(number > last)
      last, n = number, n + 1
    end
    return n
  end

  it("moves ports without closing them, and all goes on counting", function ()
    local rx, tx = files()
    for i = 0, 8 do
      local port_at = PLACES[i % 3 + 1]
      engine.configure(with_files(rx, tx, port_at, PLACES[math.floor(i / 3) + 1]))
      for _ = 1, 20 do engine.breathe() end
      if i == 0 then os.remove(rx) end -- it couldn't be opened again
    end
    engine.main{no_report = true, done = engine.finished}
    local dropped = engine.drops("thirds").third
    local links = engine.link_totals()
    assert.equal(FRAMES, links["port.output -> thirds.input"].rxpackets)
    assert.equal(FRAMES, links["port.output -> thirds.input"].txpackets)
    assert.equal(60 * FRAMES, links["port.output -> thirds.input"].rxbytes)
    assert.equal(FRAMES - dropped, links["thirds.output -> port.input"].rxpackets)
    local ends = C.pg_monotonic() + 120
    engine.main{no_report = true, done = function ()
      return flows.counted("port", "txpackets") == FRAMES - dropped
        or C.pg_monotonic() > ends
    end}
    assert.equal(FRAMES, flows.counted("port", "rxpackets"))
    assert.equal(FRAMES - dropped, flows.counted("port", "txpackets"))
    engine.configure(config.new())
    assert.equal(FRAMES - dropped, written(tx))
    assert.is_true(dropped > FRAMES / 4)
    os.remove(tx)
  end)

  it("gives a port back, open, if another app doesn't start", function ()
    local rx, tx = files()
    local path = os.tmpname()
    local function with(place)
      local c = with_files(rx, tx, place, FIRST)
      config.app(c, "reluctant", flows.Reluctant, path)
      if place then config.cpu(c, "reluctant", place) end
      return c
    end
    local file = assert(io.open(path, "w"))
    file:write(0)
    file:close()
    engine.configure(with(nil))
    for _ = 1, 20 do engine.breathe() end
    os.remove(rx)
    for _, place in ipairs{SECOND, FIRST} do
      file = assert(io.open(path, "w"))
      file:write(1)
      file:close()
      local ok, err = pcall(engine.configure, with(place))
      assert.is_false(ok)
      assert.matches("doesn't start now", tostring(err))
      assert.is_nil(tostring(err):find("could be put back", 1, true))
      for _ = 1, 20 do engine.breathe() end
    end
    engine.main{no_report = true, done = engine.finished}
    local dropped = engine.drops("thirds").third
    engine.configure(config.new())
    assert.equal(FRAMES - dropped, written(tx))
    os.remove(tx)
    os.remove(path)
  end)

  -- A port that is closed, and whose file is gone, could neither start elsewhere nor be
  -- put back.
  for place, where in pairs{[FIRST] = "another thread", [false] = "the main thread"} do
    it("leaves an app in " .. where .. " that couldn't start again", function ()
      local file, little = os.tmpname(), savefiles.order("little")
      savefiles.save(file, little:pcap_header{} .. little:record(("x"):rep(60), {}))
      local function with_port(port_at)
        local c = chain{source = FIRST, check = FIRST}
        config.app(c, "port", flows.ClosingPort, "pcap:rx=" .. file)
        config.app(c, "end", flows.Pass)
        config.link(c, "port.output -> end.input")
        if port_at then config.cpu(c, "port", port_at) end
        return c
      end
      engine.configure(with_port(place))
      run()
      local before = engine.app_table.port
      os.remove(file)
      local ok, err = pcall(engine.configure, with_port(SECOND))
      assert.is_false(ok)
      assert.matches("app 'port': .*" .. file:gsub("%p", "%%%0"), tostring(err))
      assert.equal(before, engine.app_table.port)
      local changed = with_port(place) -- it stays where it is, and isn't asked
      config.app(changed, "extra", flows.Pass)
      engine.configure(changed)
      run_beyond(received())
      assert.equal(0, flows.counted("check", "lost"))
    end)
  end

  local function reluctant(path, times)
    local file = assert(io.open(path, "w"))
    file:write(times)
    file:close()
  end

  it("puts an app back that doesn't start where it would go", function ()
    local path = os.tmpname()
    local function with(place, extra)
      local c = chain{source = FIRST, trusting = FIRST, check = FIRST}
      config.app(c, "a", flows.Reluctant, path)
      if place then config.cpu(c, "a", place) end
      if extra then config.app(c, extra, flows.Pass) end
      return c
    end
    for times = 1, 2 do -- it doesn't start here again, either
      reluctant(path, 0)
      engine.configure(with(nil))
      run_beyond(received())
      reluctant(path, times)
      local ok, err = pcall(engine.configure, with(SECOND, "extra"))
      assert.is_false(ok)
      assert.matches("app 'a': .*doesn't start now", tostring(err))
      assert.equal(times == 2, tostring(err):find("; and not all of what ran before "
        .. "could be put back: app 'a': ", 1, true) ~= nil)
      assert.same({}, require("core.shm").children("apps/extra"))
      assert.is_nil(workers.by_cpu[SECOND])
      run()
    end
    os.remove(path)
  end)

  it("that is refused stops the new apps that it began with, anywhere", function ()
    engine.configure(chain{source = FIRST, check = FIRST})
    local bad = chain{source = FIRST, check = FIRST}
    config.app(bad, "extra", flows.Pass)
    config.cpu(bad, "extra", SECOND)
    config.app(bad, "odd", flows.Trusting, "broken")
    assert.is_false(pcall(engine.configure, bad))
    assert.same({}, require("core.shm").children("apps/extra"))
    assert.is_nil(workers.by_cpu[SECOND])
    run()
  end)
end)

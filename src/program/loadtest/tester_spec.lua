-- SPDX-License-Identifier: Apache-2.0
-- The end of a trial, by a clock and an engine that are simulated: the process is
-- stopped while packets are under way, and all of them wait in the port.

local engine = require("core.app")
local link = require("core.link")
local packet = require("core.packet")
local tester = require("program.loadtest.tester")

describe("what is still under way when sending ends", function ()
  local RATE, SECONDS, WAIT_S, STEP_S = 8e6, 1e-3, 0.2, 1e-4
  local now, original, t, back, sent, came

  -- The graph's apps don't run; these do what the test says.
  before_each(function ()
    now, sent, came = 100, 0, 0
    original = {main = engine.main, now = engine.now}
    local stream = {tx = "A", number = 1, port = "null"}
    stream.back = stream
    t = tester.new({stream}, 60)
    back = engine.app_table.nic1.output.output
    rawset(engine, "now", function () return now end)
  end)
  after_each(function ()
    for name, f in pairs(original) do rawset(engine, name, f) end
    engine.configure(require("core.config").new())
  end)

  local function receive()
    link.transmit(back, packet.from_string(("x"):rep(60)))
    packet.free(link.receive(back))
    came = came + 1
  end

  -- Engine's breaths, of which each sends or brings what happens() says.
  local function simulate(happens)
    rawset(engine, "main", function (options)
      for _ = 1, 1e5 do
        now = now + STEP_S
        happens()
        if options.done() then return end
      end
      error("it goes on for ever")
    end)
  end

  local function send_in_time()
    if engine.app_table.repeater1.rate > 0 then
      sent = sent + 1
      engine.app_table.nic1.port.txpackets = sent
      return true
    end
  end

  it("is taken, however long the process was stopped", function ()
    local waits = 0
    simulate(function ()
      if send_in_time() then return end
      waits = waits + 1
      if waits == 20 then now = now + 60 end
      if waits > 20 and came < sent then receive() end
    end)
    local result = t:trial(RATE, SECONDS, WAIT_S)
    assert.is_true(sent > 5)
    assert.same({sent, sent, 0}, {result.streams[1].tx, result.streams[1].rx,
      result.streams[1].lost})
  end)

  it("is taken where the process is stopped again and again", function ()
    simulate(function ()
      if send_in_time() then return end
      now = now + 1
      if came < sent then receive() end
    end)
    assert.equal(0, t:trial(RATE, SECONDS, WAIT_S).streams[1].lost)
  end)

  it("is lost where it doesn't come in time", function ()
    simulate(send_in_time)
    local before = now
    local result = t:trial(RATE, SECONDS, WAIT_S)
    assert.equal(sent, result.streams[1].lost)
    assert.near(SECONDS + WAIT_S, now - before, 0.02)
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
local doubt = require("program.loadtest.doubt")
local engine = require("core.app")
local link = require("core.link")
local packet = require("core.packet")
local Repeater = require("program.loadtest.repeater").RateLimitedRepeater
local tester = require("program.loadtest.tester")
local throughput = require("program.loadtest.throughput")
local trial = require("program.loadtest.mlrsearch.trial")

describe("a loss after bursts of this machine", function ()
  -- The trial of a sender that was late: of 1000 packets so many are lost.
  local function result(lost, doubtful, change)
    local r = {rate = 1e6, seconds = 1, late = 0, blind = 0, burst = 127,
      fair = lost == 0 or doubtful < lost,
      streams = {{name = "A", tx = 1000, rx = 1000 - lost, lost = lost, drops = 0,
        loss = lost / 1000, doubtful = doubtful, failed = 0, kept = true}}}
    for key, value in pairs(change or {}) do r[key] = value end
    return r
  end

  local function made_of(r, loss)
    local t = tester.new({})
    function t:trial() return r end
    return t:valid_trial(1, 1, 1,
      function (of) return throughput.verdict(of, {loss = loss or 0}) end,
      function () end)
  end

  it("isn't called the device's", function ()
    local found = made_of(result(49, 49))
    assert.same({false, true}, {found.passed, found.void})
    assert.equal("not measurable at this rate here, because this machine was late, "
      .. "and sent up to 127 packets at once: a device that holds fewer may have lost "
      .. "49 by that (--burst N: it holds N)", found.reason)
    assert.is_true(made_of(result(60, 20), 0.05).void)
  end)

  it("is the device's where it is more than the bursts were", function ()
    for _, found in ipairs{made_of(result(49, 48)), made_of(result(49, 0)),
                           made_of(result(90, 20), 0.05)} do
      assert.same({false, "packets were lost"}, {found.void, found.reason})
    end
    assert.is_true(made_of(result(0, 0)).passed)
    assert.is_true(made_of(result(49, 49), 0.05).passed)
  end)

  it("may be in the tester's own port", function ()
    local r = result(49, 49)
    r.streams[1].drops = 49
    assert.matches("this machine dropped 49 packets in its receiving ports",
      doubt.not_measurable(r, 128), 1, true)
  end)

  it("doesn't count for Multiple Loss Ratio search", function ()
    local judge = trial.judge(0.05)
    assert.is_true((judge(result(0, 0))))
    assert.is_true((judge(result(49, 10))))
    assert.is_true((judge(result(90, 10))))
    assert.is_false((judge(result(49, 49))))
    assert.is_false((judge(result(60, 20))))
  end)

  it("is known from what was sent over 0.2 ms late", function ()
    local now, original = 100, engine.now
    rawset(engine, "now", function () return now end)
    local output = link.new("doubt_spec")
    local app = Repeater:new{frames = {("a"):rep(60)}}
    app.input, app.output = {}, {output = output}
    local function at(ms)
      now = 100 + ms / 1000
      app:pull()
      for _ = 1, link.nreadable(output) do packet.free(link.receive(output)) end
    end
    app:set_rate(8 * 84 * 1e5, nil, 128) -- a packet each 10 us
    for i = 1, 100 do at(i / 10) end
    assert.equal(0, app.behind)
    at(10.55)
    assert.near(35, app.behind, 2)
    app:set_rate(0)
    assert.equal(0, app.behind)
    app:stop()
    link.free(output, "doubt_spec")
    rawset(engine, "now", original)
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
-- The command line and the report of replay. (Its runs: test/test_replay.py.)

local replay = require("program.replay.replay")
local rate_of = require("program.replay.options").rate
local summary = require("program.replay.summary")

describe("program.replay", function()
  it("understands rates", function()
    assert.are.same({packet_rate = 1.5e6}, rate_of("1.5Mpps"))
    assert.are.same({packet_rate = 1e5}, rate_of("100 kpps"))
    assert.are.same({packet_rate = 7}, rate_of("7pps"))
    assert.are.same({bit_rate = 1e10}, rate_of("10Gbps"))
    for _, text in ipairs{"10", "Mpps", "1.5Mps", "-1kpps", "0pps", "1Tbps",
                          "1Mpps x"} do
      local value, problem = rate_of(text)
      assert.is_nil(value)
      assert.matches("'" .. text .. "' isn't a rate", problem, 1, true)
    end
  end)

  it("replays as recorded, once, unless told otherwise", function()
    assert.are.same({filename = "f", speed = 1}, replay.replayer_argument{file = "f"})
    assert.are.same({filename = "f", speed = 2, limit = 9},
                    replay.replayer_argument{file = "f", speed = 2, count = 9})
    assert.are.same({filename = "f", loops = math.huge},
                    replay.replayer_argument{file = "f", topspeed = true, loop = 0})
    assert.are.same({filename = "f", bit_rate = 5, loops = 3},
                    replay.replayer_argument{file = "f", loop = 3,
                                             rate = {bit_rate = 5}})
  end)

  it("sleeps while nothing is due, unless told not to", function ()
    for _, options in ipairs{{}, {speed = 2, loop = 3}, {rate = {packet_rate = 1}}} do
      assert.is_false(replay.waits_busily(options))
    end
    for _, options in ipairs{{busy_wait = true}, {topspeed = true},
                             {rate = {packet_rate = 1}, busy_wait = true}} do
      assert.is_true(replay.waits_busily(options))
    end
  end)

  local function figures(changes)
    local r = {packets = 1001, bytes = 60060, bits = 1001 * 672, seconds = 0.5,
               scheduled = 0.25, unsent = 0, drops = {}}
    for key, value in pairs(changes or {}) do
      r[key] = value
    end
    return r
  end

  it("reports the rate asked for and the one kept", function()
    assert.are.equal("replay: 1,001 packets, 60,060 bytes in 0.500 s\n"
      .. "requested: the recorded speed times 2.5 (4.000 kpps)\n"
      .. "achieved: 2.000 kpps, 1.344 Mbit/s on the wire\n"
      .. "dropped: 0\n", summary.text({speed = 2.5}, figures()))
    local function requested(options)
      return summary.text(options, figures()):match("requested: ([^\n]*)")
    end
    assert.are.equal("as fast as possible", requested{topspeed = true})
    assert.are.equal("1.500 Mpps", requested{rate = {packet_rate = 1.5e6}})
    assert.are.equal("1.000 Gbit/s on the wire", requested{rate = {bit_rate = 1e9}})
  end)

  it("reports what was dropped, and why", function()
    local text = summary.text({}, figures{unsent = 5, drops = {
      {name = "too long", count = 2}, {name = "too short", count = 0},
      {name = "failed", count = 1000},
    }})
    assert.matches("dropped: 1,002 (2 too long, 1,000 failed)\n"
                   .. "not sent: 5, which the port didn't take\n", text, 1, true)
  end)

  it("reports runs without a rate", function()
    for n = 0, 1 do
      local text = summary.text({topspeed = true}, figures{packets = n, seconds = 0})
      assert.matches("achieved: 0 pps", text, 1, true)
    end
  end)
end)

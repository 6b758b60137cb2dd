-- SPDX-License-Identifier: Apache-2.0
local chance = require("click.chance")
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")
local wifi = require("click.net.wifi")
local wireless = require("testing.wireless")

local FRAME = wireless.header(wifi.DATA, 1, wireless.POINT, wireless.STATION,
  wireless.POINT)

local function unit_of(rates, window)
  local available = click.unit(("AvailableRates(DEFAULT %s)"):format(rates))
  return click.unit("ProbeTXRate", {inputs = 2, outputs = 2, values = {OFFSET = 4,
    WINDOW = window or 1000, THRESHOLD = 0, DEBUG = true, RT = available.element,
    ACTIVE = true}})
end

-- The rate and tries that a frame gets; then it was sent with so many retries, or
-- couldn't be.
local function send(unit, retries, fails)
  local p = packet.from_string(FRAME)
  note.clear(p)
  p = unit:pass(p, 1)
  local extra, words = wifi.extra(p)
  local rate, tries = extra[wifi.RATE], extra[wifi.TRIES]
  words[1], extra[wifi.RETRIES] = fails and wifi.TX_FAILED or 0, retries or 0
  packet.free((unit:pass(p, 2)))
  return rate, tries
end

local LINE = " 2 success 0 fail 0 tries 0 perfect_usecs 12816 total_usecs 0 "
  .. "average_usecs 0 average_tries 0\n"

describe("ProbeTXRate", function ()
  it("keeps to the rate at which frames come through, and tries others", function ()
    chance.seed(1)
    local unit = unit_of("2 11")
    local seen = {}
    for _ = 1, 40 do
      local rate, tries = send(unit)
      seen[rate .. "/" .. tries] = (seen[rate .. "/" .. tries] or 0) + 1
    end
    assert.equal(37, seen["11/4"]) -- each tenth is a try, once there is a result
    assert.matches(" 11 success %d+ fail 0 tries %d+ perfect_usecs 2823 ",
      unit:read("rates"))
    unit:free()
  end)

  it("leaves a rate at which they don't", function ()
    local unit = unit_of("2 11")
    for _ = 1, 12 do send(unit, 3, true) end
    assert.equal(2, (send(unit))) -- more than three failed at 11
    assert.matches(" 11 success 0 fail %d+ tries ", unit:read("rates"))
    unit:write("reset")
    assert.equal("", unit:read("rates"))
    unit:free()
  end)

  it("forgets what is older than its window", function ()
    local unit = unit_of("2", 500)
    send(unit)
    assert.matches(" 2 success 1 fail 0 tries 1 perfect_usecs 12816 total_usecs 12816 "
      .. "average_usecs 12816 average_tries 1.000000\n", unit:read("rates"))
    unit:wait(1)
    local p = packet.from_string(FRAME)
    note.clear(p)
    packet.free((unit:pass(p, 1)))
    assert.equal("06-00-00-00-00-09\n" .. LINE, unit:read("rates"))
    unit:free()
  end)

  it("bears stations without rates, groups and short frames", function ()
    local unit = unit_of("2 11")
    unit.element.available.default = {}
    assert.equal(2, (send(unit)))
    for _, bytes in ipairs{"", FRAME:sub(1, 9), FRAME:sub(1, 4) .. wifi.ALL} do
      for i = 1, 2 do assert.same({{i, bytes}}, unit:send(bytes, i)) end
    end
    assert.same({{2, FRAME}}, unit:send(FRAME, 2))
    assert.equal("e :: ProbeTXRate no rate set for 06-00-00-00-00-09",
      unit.said[#unit.said])
    unit:free()
  end)

  it("needs a window", function ()
    assert.same({"WINDOW must be > 0"}, click.unit("ProbeTXRate",
      {values = {OFFSET = 4, WINDOW = 0, THRESHOLD = 0}}).errors)
  end)
end)

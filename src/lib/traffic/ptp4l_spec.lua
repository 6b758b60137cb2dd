-- SPDX-License-Identifier: Apache-2.0

local management = require("lib.traffic.ptp_management")
local ptp4l = require("lib.traffic.ptp4l")

local SLAVE, MASTER, NOW = 9, 6, 1795891780

-- What ptp4l 3.1.1 answered to TIME_STATUS_NP: an offset of -7775 ns.
local RECORDED = [[
  0d020068 00000000 0000000000000000 00000000 0ef4c7fffe5cb1410000 0000 047f
  00000000000000001f79 00000200 0001 0034 c000
  ffffffffffffe1a1 18ec4a108d7b2fdc 00000000 00000000
  0000 000000000000000000000000 00000001 baa766fffed36e84]]

local bytes_of = require("net.wire.bytes").from_hex

describe("a management message of PTP", function ()
  it("asks as IEEE 1588-2008, 15.4 says", function ()
    local message = management.get("CURRENT_DATA_SET", 258, 24, 1)
    assert.equal(54, #message)
    assert.equal(bytes_of("1d0200361800"), message:sub(1, 6))
    assert.equal(bytes_of("0102047f") .. ("\255"):rep(10), message:sub(31, 44))
    assert.equal(bytes_of("00000000" .. "000100022001"), message:sub(45))
  end)

  it("is read as ptp4l answers it", function ()
    local said = management.read(bytes_of(RECORDED))
    assert.equal("TIME_STATUS_NP", said.name)
    assert.same({-7775, true, 0}, {said.offset, said.present, said.sequence})
    assert.near(1795891768.9, said.ingress / 1e9, 100)
  end)

  it("is nothing else", function ()
    local good = bytes_of(RECORDED)
    for length = 0, #good - 1 do
      local said, problem = management.read(good:sub(1, length))
      assert.is_nil(said)
      assert.is_string(problem)
    end
    local others = {[1] = 0, [2] = 1, [47] = 0, [50] = 9, [51] = 255, [53] = 1}
    for at, byte in pairs(others) do
      local bad = good:sub(1, at - 1) .. string.char(byte) .. good:sub(at + 1)
      assert.is_nil(management.read(bad), at)
    end
  end)

  it("never raises, whatever comes", function ()
    local good, seed = bytes_of(RECORDED), 7
    for _ = 1, 3000 do
      local bytes = {good:byte(1, -1)}
      for _ = 1, 4 do
        seed = (seed * 16807) % 2147483647
        bytes[seed % #bytes + 1] = math.floor(seed / 1000) % 256
      end
      local said, problem = management.read(string.char(unpack(bytes)))
      assert.is_true(type(said) == "table" or type(problem) == "string")
    end
  end)
end)

-- Answers of a slave that is `offset` ns ahead, over a path of `delay` ns.
local function answers(change)
  local all = {
    {name = "PORT_PROPERTIES_NP", port = "a", state = SLAVE, timestamping = 0},
    {name = "PORT_DATA_SET", port = "a", state = SLAVE, log_sync = 0},
    {name = "TIME_STATUS_NP", offset = -1500, ingress = (NOW - 1) * 1e9,
     present = true},
    {name = "CURRENT_DATA_SET", offset = 700, delay = 2500, steps = 1}}
  for _, answer in ipairs(all) do
    for key, value in pairs(change or {}) do
      if answer[key] ~= nil then answer[key] = value end
    end
  end
  return all
end

describe("what ptp4l says", function ()
  it("is the larger offset, and the path's delay", function ()
    local said = ptp4l.judge(answers(), NOW)
    assert.near(1.5e-6, said.offset, 1e-15)
    assert.near(2.5e-6, said.delay, 1e-15)
  end)

  it("is nothing of a grandmaster", function ()
    local said = ptp4l.judge(answers{state = MASTER, present = false, steps = 0}, NOW)
    assert.same({offset = 0, delay = 0, steps = 0}, said)
  end)

  it("counts of the port that is a slave", function ()
    local all = answers()
    table.insert(all, 1, {name = "PORT_DATA_SET", port = "b", state = MASTER,
                          log_sync = 0})
    assert.near(1.5e-6, ptp4l.judge(all, NOW).offset, 1e-15)
  end)

  local REFUSED = {
    {{state = 8}, "isn't joined to a master: its port is UNCALIBRATED"},
    {{state = 99}, "its port is in state 99"},
    {{present = false}, "it is a slave, and has no master"},
    {{steps = 0}, "it is a slave, and has no master"},
    {{state = MASTER}, "it is a master, and has one"},
    {{delay = 0}, "can't be: an offset of"},
    {{delay = -5}, "can't be: an offset of"},
    {{offset = 9e18}, "can't be: an offset of 9e+09 s"},
    {{ingress = 0}, "has heard nothing of its master for 1795891780 s"},
    {{ingress = (NOW + 60) * 1e9}, "has heard nothing of its master for 60 s"},
    {{timestamping = 1}, "keeps a card's clock"},
  }
  for _, case in ipairs(REFUSED) do
    it("isn't taken: " .. case[2], function ()
      local said, problem = ptp4l.judge(answers(case[1]), NOW)
      assert.is_nil(said)
      assert.truthy(problem:find(case[2], 1, true), problem)
    end)
  end

  it("is nothing in part, or refused", function ()
    for i = 1, 4 do
      local some = answers()
      table.remove(some, i)
      assert.truthy(select(2, ptp4l.judge(some, NOW)):find("leaves out", 1, true))
    end
    local refused = answers()
    refused[3] = {error = 2}
    assert.truthy(select(2, ptp4l.judge(refused, NOW)):find("0x0002", 1, true))
  end)

  it("is asked for so", function ()
    assert.same({path = "/run/p", domain = 0}, ptp4l.parse("/run/p"))
    assert.same({path = "/run/p", domain = 24}, ptp4l.parse("/run/p,domain=24"))
    for _, text in ipairs{"", "/run/p,", "/run/p,domain=256", "/run/p,x=1"} do
      local place, problem = ptp4l.parse(text)
      assert.is_nil(place)
      assert.truthy(problem:find("is no socket of ptp4l", 1, true))
    end
  end)
end)

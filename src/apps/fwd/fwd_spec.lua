-- SPDX-License-Identifier: Apache-2.0

local config = require("core.config")
local engine = require("core.app")
local fwd = require("apps.fwd.fwd")
local link = require("core.link")
local packet = require("core.packet")
local pool = require("core.pool")

local Idle = {new = function () return {} end}

local function setup(links)
  local c = config.new()
  config.app(c, "fwd", fwd.Fwd)
  config.app(c, "ends", Idle)
  for _, spec in ipairs(links) do config.link(c, spec) end
  engine.configure(c)
  return engine.app_table.fwd
end

describe("Fwd", function ()
  after_each(function () engine.configure(config.new()) end)

  it("passes packets from input to output in order, and counts them", function ()
    local app = setup{"ends.x -> fwd.input", "fwd.output -> ends.y"}
    local sent = {}
    for i = 1, 300 do
      sent[i] = packet.resize(packet.allocate(), i)
      link.transmit(app.input.input, sent[i])
    end
    engine.breathe()
    for i = 1, 300 do
      local p = link.receive(app.output.output)
      assert.equal(sent[i], p)
      assert.equal(i, p.length)
      packet.free(p)
    end
    assert.equal(300, app:transmitted())
  end)

  it("frees them without an output, and transmits nothing", function ()
    local app = setup{"ends.x -> fwd.input"}
    for _ = 1, 3 do link.transmit(app.input.input, packet.allocate()) end
    local frees = pool.freelist.frees
    engine.breathe()
    assert.equal(3, tonumber(pool.freelist.frees - frees))
    assert.equal(0, app:transmitted())
  end)

  it("says how many it transmitted", function ()
    local app = setup{}
    function app.transmitted() return 1234567 end
    local said, before = {}, print
    rawset(_G, "print", function (text) said[#said + 1] = text end)
    local ok, err = pcall(app.report, app)
    rawset(_G, "print", before)
    assert.is_true(ok, err)
    assert.same({"  transmitted 1,234,567 packets"}, said)
  end)

  it("has no links but input and output", function ()
    local ok, err = pcall(setup, {"ends.x -> fwd.rx"})
    assert.is_false(ok)
    assert.matches("app 'fwd' has no input 'rx'; it has input", tostring(err))
  end)
end)

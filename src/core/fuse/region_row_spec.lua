-- SPDX-License-Identifier: Apache-2.0
-- Breaths in a row of a region that alone is called: from port to port.

local breath = require("core.engine.breath")
local config = require("core.config")
local engine = require("core.app")
local port = require("apps.port.port")
local texts = require("testing.texts")
local regions = require("testing.regions")

local totals = texts.totals

local BURST, MOST = 4, 32
local LINKS = {"in.output -> a.i", "a.output -> out.input"}

describe("breaths in a row of a region between ports", function ()
  local in_process

  local Pass = {}
  Pass.__index = Pass
  function Pass:new() return setmetatable({}, self) end
  function Pass:process(p) -- luacheck: no self
    if in_process then in_process() end
    return p
  end

  local function graph(burst)
    local c = config.new()
    config.app(c, "in", port.Port, {port = "null", burst = burst})
    config.app(c, "a", Pass)
    config.app(c, "out", port.Port, {port = "null"})
    for _, spec in ipairs(LINKS) do config.link(c, spec) end
    return c
  end

  local take, grow = regions.breaths()

  before_each(function ()
    in_process = nil
    engine.configure(graph(BURST))
    take(1)
    for _ = 1, 8 do take(1e-3) end
  end)

  after_each(function ()
    engine.on_error = "stop"
    engine.configure(config.new())
  end)

  local function received() return tonumber(engine.app_table["in"].port.rxpackets) end

  it("are up to 32, and all packets are counted", function ()
    assert.equal(1, #engine.regions)
    assert.equal(1, take(1e-3))
    grow()
    local before = received()
    assert.equal(MOST, take(1e-7))
    assert.equal(MOST * BURST, received() - before)
    local n = received()
    for _, spec in ipairs(LINKS) do
      assert.same({n, n * 60, n, n * 60, 0}, totals(spec))
    end
    assert.equal(n, tonumber(engine.app_table.out.port.txpackets))
  end)

  it("end where one has many packets", function ()
    engine.configure(graph(256))
    for _ = 1, 20 do assert.equal(1, take(1e-7)) end
  end)

  it("end where an app says so", function ()
    grow()
    local n = 0
    in_process = function ()
      n = n + 1
      if n == 5 * BURST then breath.end_row() end
    end
    assert.equal(5, take(1e-7))
  end)

  it("end at an error, after which the burst is in order", function ()
    local n, before = 0, received()
    in_process = function ()
      n = n + 1
      if n % 1001 == 0 then error("no more") end
    end
    engine.on_error = "restart"
    engine.main{no_report = true, in_rows = true,
      done = function () return n > 4000 end}
    in_process = nil
    local into, out = totals(LINKS[1]), totals(LINKS[2])
    assert.is_true(n > 1001)
    assert.equal(before + n, into[1])
    assert.equal(before + n - math.floor(n / 1001), out[1])
    assert.equal(into[1], into[3])
    assert.equal(out[1], out[3])
  end)
end)

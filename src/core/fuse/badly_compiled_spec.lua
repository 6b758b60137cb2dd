-- SPDX-License-Identifier: Apache-2.0

local C = require("core.native")
local config = require("core.config")
local drift = require("core.fuse.recompile")
local engine = require("core.app")
local badly_compiled = require("core.fuse.badly_compiled")
local link = require("core.link")
local Port = require("apps.port.port").Port

local Pass = {process = function (_, p) return p end}
Pass.__index = Pass
function Pass:new() return setmetatable({}, self) end

describe("interpreted", function ()
  after_each(function () engine.configure(config.new()) end)

  -- Packets of a null port go through one app, and back.
  local function setup(name)
    local c = config.new()
    config.app(c, "port", Port, "null")
    config.app(c, name, Pass)
    config.link(c, "port.output -> " .. name .. ".input")
    config.link(c, name .. ".output -> port.input")
    engine.configure(c)
    engine.busywait = true
    return engine.regions[1]
  end

  -- Until the region is made anew and compiled; it takes a fraction of a second.
  local function run_until_anew(region)
    local ends = C.pg_monotonic() + 20
    engine.main{no_report = true, done = function ()
      local now = engine.regions[1]
      return now ~= region and not badly_compiled.is_interpreted(now.loop[1])
        or C.pg_monotonic() > ends
    end}
  end

  it("tells whether a loop has been compiled", function ()
    local loop = loadstring("local n = 0 for i = 1, ... do n = n + i end return n")
    assert.is_true(badly_compiled.is_interpreted(loop))
    for _ = 1, 100 do loop(100) end
    assert.is_false(badly_compiled.is_interpreted(loop))
    local off = loadstring("local n = 0 for i = 1, ... do n = n + i end return n")
    jit.off(off)
    for _ = 1, 100 do off(100) end
    assert.is_true(badly_compiled.is_interpreted(off))
  end)

  it("has a region made anew that LuaJIT has given up, and counts on", function ()
    local region = setup("given_up")
    jit.off(region.loop[1])
    run_until_anew(region)
    local now = engine.regions[1]
    assert.not_equal(region, now)
    assert.is_false(badly_compiled.is_interpreted(now.loop[1]))
    local stats = link.stats(engine.link_table["given_up.output -> port.input"])
    assert.equal(stats.txpackets,
      link.stats(engine.link_table["port.output -> given_up.input"]).rxpackets)
    assert.equal(tonumber(engine.app_table.port.port.txpackets), stats.txpackets)
  end)

  it("leaves small bursts alone", function ()
    local region = {loop = {loadstring("for _ = 1, ... do end")}, entry = {{read = 0}},
                    in_row = {}}
    local function looks(packets_a_breath)
      local found = false
      for _ = 1, 5 do
        region.entry[1].read = region.entry[1].read + packets_a_breath * 1e4
        found = badly_compiled.look(region, region.interpreted
          and region.interpreted.breaths + 1e4 or 0) or found
      end
      return found
    end
    assert.is_false(looks(15))
    assert.is_true(looks(16))
  end)

  it("tries that only twice", function ()
    local hopeless = loadstring("for _ = 1, ... do end")
    local region = {description = {apps = {"hopeless"}, app_of = {hopeless = {}}},
                    tally = {napps = 0}, loop = {hopeless}, entry = {{read = 0}},
                    in_row = {}}
    local n = 0
    for second = 1, 20 do
      region.entry[1].read = second * 1e6
      if drift.check({region}, second, second * 1e4) then
        region.interpreted, n = nil, n + 1 -- made anew
      end
    end
    assert.equal(2, n)
  end)
end)

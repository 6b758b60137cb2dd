-- SPDX-License-Identifier: Apache-2.0
-- The service that bench/run chain measures: fused, it does with random packets what it
-- does between links.

local config = require("core.config")
local counter = require("core.counter")
local engine = require("core.app")
local packet = require("core.packet")
local regions = require("testing.regions")
local texts = require("testing.texts")

local service = dofile("bench/lua/service.lua")

local function random_frames(n)
  local list = {}
  for i = 1, n do
    local bytes = {}
    for k = 1, math.random(0, 3) == 0 and math.random(0, 40) or math.random(34, 80) do
      bytes[k] = string.char(math.random(0, 255))
    end
    if #bytes > 14 and math.random(0, 2) == 0 then bytes[13] = "\134" end
    list[i] = table.concat(bytes)
  end
  return list
end

-- What comes out and what is counted, of these bursts.
local function outcome(bursts)
  local apps, links, from = {}, {}, "in.x"
  for i, app in ipairs(service.CHAIN) do
    apps["app" .. i] = {unpack(app)}
    links[i] = ("%s -> app%d.input"):format(from, i)
    from = ("app%d.output"):format(i)
  end
  links[#links + 1] = from .. " -> out.x"
  regions.run_anew(apps, links)
  local result, fused = {}, #engine.regions
  for _, burst in ipairs(bursts) do
    texts.send("in.x -> app1.input", burst)
    engine.breathe()
    result[#result + 1] = texts.take(from .. " -> out.x")
  end
  for name, app in pairs(engine.app_table) do
    for field, c in pairs(app.shm or {}) do
      if field ~= "dtime" and type(c) == "cdata" then
        result[name .. "/" .. field] = tonumber(counter.read(c))
      end
    end
  end
  result.held = texts.held()
  return result, fused
end

describe("a service of apps in Snabb's form #slow", function ()
  after_each(function ()
    engine.lift = true
    engine.configure(config.new())
  end)

  it("does the same fused and between links", function ()
    packet.free(packet.allocate())
    math.randomseed(7)
    local bursts = {{}}
    for i = 2, 12 do bursts[i] = random_frames(math.random(0, 300)) end
    local fused, n = outcome(bursts)
    assert.equal(1, n, engine.not_fused.app1)
    engine.lift = false
    local apart, none = outcome(bursts)
    assert.equal(0, none)
    assert.is_true(#apart[12] > 0)
    assert.is_true(apart["app9/packets"] > 500)
    assert.is_true(apart["app2/rxerrors"] > 50)
    assert.same(apart, fused)
  end)
end)

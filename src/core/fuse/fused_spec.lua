-- SPDX-License-Identifier: Apache-2.0
-- Fused regions must do exactly what their apps do one by one, between links: same
-- packets at each end in the same order, same counters, same drops. Random graphs,
-- run fused, alone, and changing between the two, are compared.

local account = require("core.engine.account")
local config = require("core.config")
local engine = require("core.app")
local graphs = require("testing.random_graphs")
local packet = require("core.packet")
local packet_paths = require("core.fuse.packet_paths")

local lifted = 0 -- apps of Snabb's form that were fused, so far

local function count_lifted()
  for _, region in ipairs(engine.regions) do
    for _, app in pairs(region.description.app_of) do
      if app.lifted_from then lifted = lifted + 1 end
    end
  end
end

-- Run the configuration; `each` is called before each breath.
local function outcome_of(c, fused, each)
  engine.fuse = fused
  engine.configure(c)
  count_lifted()
  graphs.run(each)
  local outcome, full = graphs.outcome()
  local held = account.packets(engine.link_table).held
  engine.configure(config.new())
  return outcome, full, held
end

-- The differences of two tables of tables, as lines.
local function differences(a, b, at, lines)
  lines = lines or {}
  if type(a) ~= "table" or type(b) ~= "table" then
    if a ~= b then
      lines[#lines + 1] = ("%s: %s, %s"):format(at, tostring(a), tostring(b))
    end
    return lines
  end
  for key, value in pairs(a) do differences(value, b[key], at .. "/" .. key, lines) end
  for key, value in pairs(b) do
    if a[key] == nil then differences(nil, value, at .. "/" .. key, lines) end
  end
  return lines
end

local function toggling(c)
  return function (breath)
    if breath % 3 == 0 then
      engine.fuse = not engine.fuse
      engine.configure(c)
    end
  end
end

describe("what is fused #slow", function ()
  local known = packet_paths.known

  after_each(function ()
    packet_paths.known = known
    engine.fuse = true
    engine.configure(config.new())
  end)

  local seed = tonumber(os.getenv("FUSE_SEED") or os.time())

  local function compare(loops, rounds, packets, emitting)
    math.randomseed(seed)
    packet.free(packet.allocate())
    local before, compared = account.packets({}).held, 0
    for round = 1, rounds do
      local c = graphs.random_graph(14, loops, packets, emitting)
      local alone, full1, held1 = outcome_of(c, false)
      local fused, full2, held2 = outcome_of(c, true)
      local other = round % 2 == 0 -- form of their loops
      if other then packet_paths.known = function () return true end end
      local both, full3, held3 = outcome_of(c, true, toggling(c))
      packet_paths.known = known
      assert.same({before, before, before}, {held1, held2, held3}, "round " .. round)
      if full1 + full2 + full3 == 0 then
        compared = compared + 1
        local at = "round " .. round
        assert.same({}, differences(alone, fused, at))
        assert.same({}, differences(alone, both, at .. ", changing"
          .. (other and ", spread" or "")))
      end
    end
    assert.is_true(compared > rounds / 2, compared .. " compared")
  end

  it(("does what it does alone, in trees (seed %d)"):format(seed), function ()
    compare(false, 60, 300)
    assert.is_true(lifted > 0)
  end)

  it(("does what it does alone, in loops (seed %d)"):format(seed), function ()
    compare(true, 40, 300)
  end)

  it(("does so once it is compiled (seed %d)"):format(seed), function ()
    compare(false, 5, 20000)
  end)

  it(("does so when apps emit, in trees (seed %d)"):format(seed), function ()
    compare(false, 60, 300, true)
  end)

  it(("does so when apps emit, in loops (seed %d)"):format(seed), function ()
    compare(true, 40, 100, true)
  end)

  it(("does so when apps emit, compiled (seed %d)"):format(seed), function ()
    compare(false, 5, 20000, true)
  end)
end)

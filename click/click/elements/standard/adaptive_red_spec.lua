-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

-- The likelihood of AdaptiveRED(20, MAX_P) after each half second, `n` of them, of a
-- queue that holds so many.
local function likelihoods(max_p, held, n)
  local path = os.tmpname()
  local r = click.run(([[
    InfiniteSource(LIMIT %d) -> q :: Queue(1000) -> Idle;
    Idle -> red :: AdaptiveRED(20, %s, QUEUES q, STABILITY 0) -> Discard;
    Script(wait 0.25s, label again, print >>%s $(red.max_p), wait 0.5s, goto again);
    DriverManager(wait %gs, stop)]]):format(held, max_p, path, n / 2))
  r:close()
  local list = {}
  for line in io.lines(path) do list[#list + 1] = tonumber(line) end
  os.remove(path)
  return list
end

describe("AdaptiveRED", function ()
  it("has thresholds of half its target and one and a half times it", function ()
    local r = click.run([[Idle -> red :: AdaptiveRED(21, 0.1) -> Queue -> Idle;
      Idle -> few :: AdaptiveRED(1, 0.1) -> Queue -> Idle; Script(stop)]])
    local function threshold(name) return (r:handler_read(name)) end
    assert.equal("10", threshold("red.min_thresh"))
    assert.equal("31", threshold("red.max_thresh"))
    assert.equal("5", threshold("few.min_thresh"))
    assert.equal("15", threshold("few.max_thresh"))
    r:close()
  end)

  it("makes drops likelier while the queue is long, by a hundredth at most", function ()
    local list = likelihoods("0.02", 40, 4)
    assert.near(0.02, list[1], 1e-4)
    assert.near(0.025, list[2], 1e-4)   -- a quarter
    assert.near(0.03125, list[3], 1e-4)
    list = likelihoods("0.495", 40, 4)
    assert.near(0.505, list[2], 1e-4)   -- a hundredth
    assert.near(0.505, list[3], 1e-4)   -- above a half no more
  end)

  it("makes them less likely while it is short, down to a hundredth", function ()
    local list = likelihoods("0.02", 5, 10)
    assert.near(0.018, list[2], 1e-4)
    assert.near(0.0162, list[3], 1e-4)
    assert.is_true(list[#list] < 0.01 and list[#list] > 0.0089)
  end)

  it("leaves them near its target", function ()
    local list = likelihoods("0.02", 20, 4)
    assert.near(0.02, list[4], 1e-4)
  end)

  it("is refused as RED is", function ()
    assert.same({"no nearby Queues"}, click.unit("AdaptiveRED(20, 0.1)").errors)
    assert.same({"MAX_P must be between 0 and 1"},
      click.unit("AdaptiveRED(20, 1.1)").errors)
  end)
end)

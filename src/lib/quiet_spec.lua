-- SPDX-License-Identifier: Apache-2.0
local quiet = require("lib.quiet")

describe("lib.quiet", function ()
  local time
  local function now() return time end
  before_each(function () time = 100 end)

  -- The looks until it is over, `step` seconds apart; `counts` of the first ones.
  local function looks(wait, step, counts)
    for n = 1, 1e5 do
      time = time + step
      if wait:over(counts and counts[math.min(n, #counts)] or 0) then return n end
    end
  end

  it("waits for so long, and one look more", function ()
    assert.near(1001, looks(quiet.after(0.5, now), 0.5e-3), 2)
    assert.near(501, looks(quiet.after(0.5, now), 1e-3), 2)
  end)

  it("counts no pause of this process", function ()
    local wait = quiet.after(0.5, now)
    time = time + 1000
    assert.is_false(wait:over(0))
    assert.near(500, looks(wait, 1e-3), 2)
    assert.near(501, looks(quiet.after(0.5, now), 7), 2)
  end)

  it("takes what has come meanwhile", function ()
    assert.equal(2, looks(quiet.after(1e-4, now), 3))
    assert.equal(6, looks(quiet.after(1e-4, now), 3, {1, 2, 3, 4, 5}))
  end)

  it("doesn't wait for those who send for ever", function ()
    local counts = {}
    for i = 1, 1000 do counts[i] = i end
    assert.near(600, looks(quiet.after(0.5, now), 1e-3, counts), 2)
  end)

  it("begins again with what comes, where it is to", function ()
    local counts = {}
    for i = 1, 250 do counts[i] = i end
    assert.near(251, looks(quiet.after(0.2, now), 1e-3, counts), 1)
    assert.near(451, looks(quiet.since_last(0.2, now), 1e-3, counts), 2)
  end)

  it("may look more rarely, and asks the engine's clock", function ()
    assert.near(6, looks(quiet.after(0.5, now, 0.1), 0.2), 1)
    local wait = quiet.after(0)
    assert.is_false(wait:over(7))
    assert.is_true(wait:over(7))
  end)
end)

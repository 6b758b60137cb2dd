-- SPDX-License-Identifier: Apache-2.0
-- When it pays to sleep, on a clock that the test moves.

local policy = require("core.idle.policy")

local COST = 5e-6

-- What is done in idle breaths `apart` seconds after one another, as packets come every
-- `gap` seconds: how many of each, over the last of `n` gaps.
local function decisions(load, now, gap, apart, n, packets)
  local found
  for _ = 1, n do
    found = {wait = 0, nap = 0}
    local ends = now + gap
    repeat
      local what = load:idle(now, COST)
      found[what] = found[what] + 1
      now = what == "wait" and ends or now + apart
    until now >= ends
    now = ends
    load:busy(now, packets or 1)
  end
  return found, now
end

describe("an engine without packets", function ()
  it("sleeps at once where packets come far apart", function ()
    assert.same({wait = 1, nap = 0}, decisions(policy.new(), 0, 1e-3, 15e-6, 3))
  end)

  it("naps where they come closer together than a sleep pays", function ()
    local load = policy.new()
    local found, now = decisions(load, 0, 2e-6, 15e-6, 30)
    assert.same({wait = 0, nap = 1}, found)
    -- What came in a nap came one after the other.
    assert.same({wait = 0, nap = 1}, (decisions(load, now, 15e-6, 15e-6, 30, 8)))
  end)

  it("sleeps soon after the last one, and learns that they come far apart", function ()
    local load = policy.new()
    local _, now = decisions(load, 0, 2e-6, 15e-6, 30)
    local found
    found, now = decisions(load, now, 0.1, 15e-6, 1)
    assert.equal(1, found.wait)
    assert.is_true(found.nap >= 1 and found.nap <= 3)
    found = decisions(load, now, 1e-3, 15e-6, 1)
    assert.same({wait = 1, nap = 0}, found)
  end)
end)

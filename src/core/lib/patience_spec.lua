-- SPDX-License-Identifier: Apache-2.0
-- Limits count the time of who is waited for, by clocks that are simulated here.

local patience = require("core.lib.patience")
local C = require("core.native")

describe("core.lib.patience", function ()
  local time, delay
  local function now() return time end
  local function delay_of() return delay end
  before_each(function () time, delay = 100, 7 end)

  -- Looks until it is over, `step` seconds apart; the CPU is waited for in a part of
  -- them, which the kernel tells each `every` looks.
  local function looks(p, step, part, every)
    for n = 1, 1e5 do
      time = time + step
      if n % every == 0 then delay = delay + every * step * part end
      if p:over() then return n end
    end
  end

  it("is over after so many seconds, where there are CPUs enough", function ()
    assert.near(60, looks(patience.new(3, 1, now, delay_of), 0.05, 0, 1), 1)
  end)

  it("counts the share that whoever is waited for had of a CPU", function ()
    assert.near(600, looks(patience.new(3, 1, now, delay_of), 0.05, 0.9, 1), 2)
    assert.near(600, looks(patience.new(3, 1, now, delay_of), 0.05, 0.9, 4), 50)
  end)

  it("counts no pause of who looks", function ()
    local p = patience.new(3, 1, now, delay_of)
    time = time + 1000 -- it was stopped
    assert.is_false(p:over())
    assert.near(29, looks(p, 100, 0, 1), 1)
  end)

  it("comes to its end where both have few CPUs", function ()
    local n = looks(patience.new(3, 1, now, delay_of), 0.5, 0.8, 1)
    assert.near(3 / 0.1 / 0.2, n, 2)
  end)

  it("can do without a thread", function ()
    assert.near(60, looks(patience.new(3, nil, now, delay_of), 0.05, 0, 1), 1)
  end)

  it("reads what the kernel tells of any thread", function ()
    assert.is_true(C.pg_run_delay_of(require("posix.unistd").getpid()) >= 0)
    assert.equal(0, C.pg_run_delay_of(2 ^ 30))
  end)
end)

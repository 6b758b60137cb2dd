-- SPDX-License-Identifier: Apache-2.0
local balancer = require("core.cpus.balancer")
local ffi = require("ffi")

describe("core.cpus.balancer", function ()
  local workers = {by_cpu = {}, running = function () return true end,
    main_has_links = function () return false end}
  for cpu = 1, 2 do
    workers.by_cpu[cpu] = {is_given_up = function () return false end}
  end

  it("moves nothing while copies aren't ready for it", function ()
    local waits, moved = true, 0
    balancer.want(1)
    balancer.attach(workers, function (f, ...)
      f(...)
      return true
    end)
    finally(function ()
      balancer.want(0)
      balancer.attach(require("core.cpus.workers"),
        require("core.cpus.deploy").between)
    end)
    local t = ffi.cast("struct steering *", balancer.table("source", 2))
    balancer.begin({1, 2}, function (moves)
      moved = moved + #moves
      return 0
    end, function () return waits end)
    for turn = 1, 2 do
      for bucket = 0, 126, 2 do -- all of them the first one's
        t.packets[bucket] = t.packets[bucket] + 1000
      end
      balancer.look()
      assert.equal(turn == 2, moved > 0)
      assert.same({1, turn - 1}, {balancer.told.awaited, balancer.told.turns})
      waits = false
    end
    assert.match("1 turns put off, as kept flows",
      table.concat(balancer.lines(), "\n"))
  end)
end)

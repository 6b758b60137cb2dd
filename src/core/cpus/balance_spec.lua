-- SPDX-License-Identifier: Apache-2.0
local balance = require("core.cpus.balance")

describe("core.cpus.balance", function ()
  local function of(...)
    local list = {}
    for i, x in ipairs{...} do list[i - 1] = x end
    return list
  end

  it("lets CPUs alone that have about the same to do", function ()
    assert.same({}, (balance.plan(of(0, 1, 0, 1), of(10, 11, 10, 10), 2)))
    assert.same({}, (balance.plan(of(0, 1, 0, 1), of(0, 0, 0, 0), 2)))
  end)

  it("moves from the busiest to the least busy", function ()
    local moves, before, after = balance.plan(of(0, 1, 0, 1), of(10, 1, 5, 4), 2)
    assert.same({{bucket = 2, from = 0, to = 1}}, moves)
    assert.equal(1.5, before)
    assert.equal(1, after)
  end)

  it("leaves an elephant where it is, and moves what is beside it", function ()
    local owner, load = balance.in_turn(128, 4), {}
    for bucket = 0, 127 do load[bucket] = bucket == 5 and 60 or 1 end
    local moves, before, after = balance.plan(owner, load, 4)
    for _, move in ipairs(moves) do
      assert.are_not.equal(5, move.bucket)
      assert.equal(1, move.from)
    end
    assert.equal(31, #moves)
    assert.is_true(before > 1.9 and after < 1.3)
  end)

  it("moves nothing for an elephant that no move makes better", function ()
    assert.same({}, (balance.plan(of(0, 1, 0, 1), of(0, 100, 0, 0), 2)))
  end)

  it("takes the buckets of CPUs that are used no more", function ()
    local owner, load = balance.in_turn(128, 4), {}
    for bucket = 0, 127 do load[bucket] = bucket end
    local moves, _, after = balance.plan(owner, load, 2)
    assert.is_true(#moves >= 64 and after < 1.02)
    for _, move in ipairs(moves) do
      assert.is_true(move.to < 2 and owner[move.bucket] == move.from)
      owner[move.bucket] = move.to
    end
    for bucket = 0, 127 do assert.is_true(owner[bucket] < 2) end
    moves, _, after = balance.plan(owner, load, 3)
    assert.is_true(#moves > 0 and after < 1.1)
    -- Also where nobody has anything to do.
    assert.same({{bucket = 1, from = 1, to = 0}}, (balance.plan(of(0, 1), of(0, 0), 1)))
  end)

  it("gives each bucket one owner, and is never worse than before", function ()
    math.randomseed(7)
    for _ = 1, 300 do
      local n, owner, load = math.random(1, 64), {}, {}
      for bucket = 0, 127 do
        owner[bucket] = math.random(0, n - 1)
        load[bucket] = math.floor(math.random() ^ -0.8) * math.random(0, 3)
      end
      local moves, before, after = balance.plan(owner, load, n)
      local seen = {}
      for _, move in ipairs(moves) do
        assert.is_nil(seen[move.bucket])
        assert.equal(owner[move.bucket], move.from)
        assert.is_true(move.to ~= move.from and move.to >= 0 and move.to < n)
        seen[move.bucket] = true
        owner[move.bucket] = move.to
      end
      assert.equal(after, balance.imbalance(balance.sums(owner, load, n), n))
      assert.is_true(after < before or #moves == 0)
    end
  end)
end)

-- SPDX-License-Identifier: Apache-2.0

local blocked = require("core.engine.blocked")

describe("blocked.measure", function ()
  local function port(imissed)
    return {port = true, statistics = function () return {imissed = imissed()} end}
  end

  it("counts a change of a running graph, its time, and what ports missed", function ()
    local missed, changes, before = 5, blocked.changes, blocked.missed
    local seconds = blocked.seconds
    blocked.measure({a = port(function () return missed end), b = {}}, true,
      function () missed = 12 end)
    assert.equal(changes + 1, blocked.changes)
    assert.equal(before + 7, blocked.missed)
    assert.is_true(blocked.seconds > seconds)
    assert.is_true(blocked.longest >= blocked.seconds - seconds)
  end)

  it("doesn't count the first configuration", function ()
    local changes, called = blocked.changes, false
    blocked.measure({}, false, function () called = true end)
    assert.is_true(called)
    assert.equal(changes, blocked.changes)
  end)

  it("counts only what stands still elsewhere, if that is so", function ()
    local C = require("core.native")
    local function wait(seconds)
      local ends = C.pg_monotonic() + seconds
      while C.pg_monotonic() < ends do end -- luacheck: ignore
    end
    local seconds, changes, before = blocked.seconds, blocked.changes, blocked.missed
    local missed = 3
    local began, still = C.pg_monotonic(), 0
    blocked.measure({}, "elsewhere", function ()
      wait(0.01)
      local from = C.pg_monotonic()
      blocked.elsewhere(function () missed = 8 end)
      still = C.pg_monotonic() - from
    end, function () return missed end)
    assert.is_true(blocked.seconds - seconds <= still)
    assert.is_true(blocked.seconds - seconds < C.pg_monotonic() - began - 0.01)
    assert.equal(changes + 1, blocked.changes)
    assert.equal(before + 5, blocked.missed)
  end)

  it("tells the cut of a graph over CPUs from changes", function ()
    local changes, before = blocked.changes, blocked.missed
    local missed = 0
    blocked.first_cut(function ()
      blocked.measure({}, true, function () missed = 4 end, function ()
        return missed
      end)
    end)
    assert.same({1, 4}, {blocked.cut.changes, blocked.cut.missed})
    assert.same({changes, before}, {blocked.changes, blocked.missed})
    blocked.cut = nil
  end)

  it("counts a change that fails too, and raises what it raised", function ()
    local changes = blocked.changes
    local ok, err = pcall(blocked.measure, {}, true, function () error("no", 0) end)
    assert.is_false(ok)
    assert.equal("no", err)
    assert.equal(changes + 1, blocked.changes)
  end)
end)

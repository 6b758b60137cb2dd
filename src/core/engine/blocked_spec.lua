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

  it("counts a change that fails too, and raises what it raised", function ()
    local changes = blocked.changes
    local ok, err = pcall(blocked.measure, {}, true, function () error("no", 0) end)
    assert.is_false(ok)
    assert.equal("no", err)
    assert.equal(changes + 1, blocked.changes)
  end)
end)

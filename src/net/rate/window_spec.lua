-- SPDX-License-Identifier: Apache-2.0
local window = require("net.rate.window")

describe("net.rate.window", function ()
  it("lets so many pass in a period, the next after the last", function ()
    local w = window.new(2, 5)
    local passed = {}
    for i, now in ipairs{10, 11, 12, 14.9, 15, 15, 15, 26} do
      passed[i] = w:allow(now)
    end
    assert.same({true, true, false, false, true, true, false, true}, passed)
  end)

  it("lets none pass where none may", function ()
    local w = window.new(0, 1)
    for now = 1, 5 do assert.is_false(w:allow(now)) end
  end)
end)

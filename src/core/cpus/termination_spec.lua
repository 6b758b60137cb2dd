-- SPDX-License-Identifier: Apache-2.0
local termination = require("core.cpus.termination")

describe("The end of a graph", function ()
  local function ended(app)
    return termination.alone{configuration = {}, app_table = {app = app},
      link_table = {}}
  end

  it("is told by methods, not by an app's fields of their names", function ()
    assert.is_true(ended{ends = function () return true end})
    assert.is_false(ended{ends = function () return false end})
    assert.is_false(ended{ends = true})
    assert.is_false(ended{ends = 5})
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
local deprecated = require("core.lib.deprecated")
local log = require("core.lib.log")

describe("core.lib.deprecated", function ()
  local said, warning = nil, log.warning
  before_each(function ()
    said = {}
    log.warning = function (fmt, ...) said[#said + 1] = fmt:format(...) end
  end)
  after_each(function () log.warning = warning end)

  it("warns once of each, and says what to use", function ()
    for _ = 1, 2 do deprecated.warn("spec.old()", "spec.new()", "2.0") end
    deprecated.warn("--spec", "--other", "3.0")
    assert.same({"spec.old() is deprecated, use spec.new() instead; it goes with 2.0",
                 "--spec is deprecated, use --other instead; it goes with 3.0"}, said)
  end)

  it("wraps a function, with its arguments and results", function ()
    local f = deprecated.wrap(function (...) return select("#", ...), ... end,
      "spec.wrapped()", "spec.f()", "2.0")
    assert.same({}, said)
    assert.same({3, 1, nil, 2}, {f(1, nil, 2)})
    assert.same({1, 4}, {f(4)})
    assert.equal(1, #said)
  end)
end)

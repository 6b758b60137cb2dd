-- SPDX-License-Identifier: Apache-2.0

local engine = require("core.app")
local scheduling = require("lib.scheduling")
local timeline = require("core.timeline")

describe("lib.scheduling", function ()
  local busywait, hz, enabled = engine.busywait, engine.Hz, timeline.enabled

  after_each(function ()
    engine.busywait, engine.Hz, timeline.enabled = busywait, hz, enabled
  end)

  it("applies what it is told, and defaults", function ()
    scheduling.apply{Hz = 50}
    assert.equal(50, engine.Hz)
    assert.is_true(engine.busywait)
    scheduling.apply{busywait = false, timeline = false}
    assert.is_false(engine.busywait)
  end)

  it("makes code that does the same", function ()
    local code = scheduling.stage{Hz = 7,
      eval = "require('core.app').Hz_spec = 'a \"b\"\\n'"}
    assert(loadstring(code))()
    assert.equal(7, engine.Hz)
    assert.equal('a "b"\n', engine.Hz_spec)
    engine.Hz_spec = nil
  end)

  it("refuses what it doesn't know", function ()
    assert.has_error(function () scheduling.apply{cpus = 1} end)
    assert.has_error(function () scheduling.apply{eval = "nil nil"} end)
  end)
end)

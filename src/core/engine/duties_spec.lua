-- SPDX-License-Identifier: Apache-2.0
-- What an engine does beside packets takes a small part of the time, however long it
-- takes.

local C = require("core.native")
local engine = require("core.app")
local graph = require("core.engine.graph")
local pool = require("core.pool")

describe("what is due now and then", function ()
  local drifted, tend = graph.drifted, pool.tend
  after_each(function ()
    graph.drifted, pool.tend, engine.busywait = drifted, tend, false
  end)

  it("is left out for 200 times as long as it took, 50 ms at most", function ()
    local began, light = {}, 0
    function pool.tend() light = light + 1 end
    function graph.drifted(now)
      began[#began + 1] = now
      local ends = C.pg_thread_cpu_seconds() + 0.001
      repeat until C.pg_thread_cpu_seconds() >= ends
    end
    engine.busywait = true
    engine.main{done = function () return #began == 4 end, no_report = true}
    for i = 2, 4 do assert.is_true(began[i] - began[i - 1] >= 0.0499) end
    assert.is_true(light >= 3)
  end)
end)

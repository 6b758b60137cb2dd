-- SPDX-License-Identifier: Apache-2.0
-- What an engine does beside packets takes a small part of the time, however long it
-- takes.

local C = require("core.native")
local config = require("core.config")
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

  it("is done less often while the engine sleeps between packets", function ()
    local Now = {needs_packets = true, tick_seconds = 0.002}
    Now.__index = Now
    function Now:new() return setmetatable({sent = 0, due = false}, self) end
    function Now:tick() self.due = true end
    function Now:pull()
      if not self.due then return end
      self.due, self.sent = false, self.sent + 1
      link.transmit(self.output.output, packet.allocate())
    end
    local c = config.new()
    config.app(c, "now", Now)
    config.app(c, "sink", require("apps.basic.basic_apps").Sink)
    config.link(c, "now.output -> sink.input")
    engine.configure(c)
    local tends = 0
    function pool.tend() tends = tends + 1 end
    local began = C.pg_monotonic()
    local now = engine.app_table.now
    engine.main{no_report = true, done = function ()
      return now.sent > 100 and tends > 2 or C.pg_monotonic() - began > 60
    end}
    local most = (C.pg_monotonic() - began) / 0.01 -- as often as where it doesn't sleep
    local sent = now.sent
    engine.configure(config.new())
    assert.is_true(sent > 100, sent)
    assert.is_true(tends > 2 and tends < most / 2, ("%d of %d"):format(tends, most))
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
-- One worker: which answer is whose.

local Worker = require("core.cpus.worker")
local affinity = require("core.cpus.affinity")
local engine = require("core.app")
local testing = require("testing.flows")
local config = require("core.config")
local workers = require("core.cpus.workers")

local CPU = affinity.cpus()[1]

describe("core.cpus.worker", function ()
  local patience = Worker.PATIENCE_SECONDS
  before_each(function ()
    local c = config.new()
    config.app(c, "pass", testing.Pass)
    config.cpu(c, "pass", CPU)
    engine.configure(c)
  end)
  after_each(function ()
    Worker.PATIENCE_SECONDS = patience
    engine.stop()
  end)

  local function later(result)
    return {what = "call", module = "os", name = "execute",
            argument = ("sleep 0.3; exit %d"):format(result)}
  end

  it("drops an answer that comes too late", function ()
    local worker = workers.by_cpu[CPU]
    Worker.PATIENCE_SECONDS = 0.01
    assert.error_matches(function () worker:ask(later(1)) end,
      "the worker on CPU %d+ hasn't answered for 0.01 s")
    Worker.PATIENCE_SECONDS = patience
    assert.same({missed = 0}, {missed = worker:ask{what = "missed"}.missed})
    assert.equal(0, workers.missed())
    assert.same({{}, {}}, {worker.awaited, worker.answers})
  end)

  it("keeps answers apart, whichever is asked for first", function ()
    local worker = workers.by_cpu[CPU]
    local first, second = worker:tell(later(0)), worker:tell{what = "missed"}
    assert.equal(0, worker:hear_out(second).missed)
    local done = worker:hear_out(first).result
    assert.is_true(done == 0 or done == true) -- 0 by Lua 5.1, true by 5.2
    assert.same({{}, {}}, {worker.awaited, worker.answers})
  end)
end)

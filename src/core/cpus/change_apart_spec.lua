-- SPDX-License-Identifier: Apache-2.0
-- Changes in which no app moves, and no link between CPUs comes or goes: each worker
-- goes over to its part by itself.

local C = require("core.native")
local affinity = require("core.cpus.affinity")
local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local engine = require("core.app")
local flows = require("testing.flows")
local workers = require("core.cpus.workers")

local cpus = affinity.cpus()
local FIRST, SECOND = cpus[1], cpus[2] or cpus[1] + 1
local FLOWS, PATIENCE_S = 7, 120

-- A link from CPU to CPU, and on each another source and sink; `between` them is an
-- app, or on the second CPU one that doesn't start ("broken").
local function beside(between)
  local c = config.new()
  config.app(c, "source", flows.Flows, {packets = 1e9, flows = FLOWS, burst = 50})
  config.app(c, "check", flows.Check, {flows = FLOWS})
  config.link(c, "source.output -> check.input")
  config.cpu(c, "source", FIRST)
  config.cpu(c, "check", SECOND)
  for name, cpu in pairs{near = FIRST, far = SECOND} do
    local ends = {name .. "_source", name .. "_sink"}
    config.app(c, ends[1], basic.Source, 64)
    config.app(c, ends[2], basic.Sink)
    if between then
      config.app(c, name, flows.Trusting, name == "far" and between or nil)
      table.insert(ends, 2, name)
    end
    for i, app in ipairs(ends) do
      config.cpu(c, app, cpu)
      local to = ends[i + 1]
      if to then config.link(c, ("%s.output -> %s.input"):format(app, to)) end
    end
  end
  return c
end

local function received() return flows.counted("check", "received") end

local function run_beyond(before)
  local ends = C.pg_monotonic() + PATIENCE_S
  engine.main{no_report = true, done = function ()
    return received() > before or C.pg_monotonic() > ends
  end}
  assert.is_true(received() > before)
end

describe("A change of workers' parts", function ()
  after_each(function () engine.configure(config.new()) end)

  it("stops nobody and loses nothing", function ()
    engine.configure(beside(false))
    run_beyond(1000)
    local pauses = 0
    local ask_all = workers.ask_all
    finally(function () workers.ask_all = ask_all end)
    function workers.ask_all(asked, message_of)
      for _, cpu in ipairs(asked) do
        if message_of(cpu).what == "pause" then pauses = pauses + 1 end
      end
      return ask_all(asked, message_of)
    end
    local changes = 0
    engine.main{no_report = true, done = function ()
      if changes == 10 then return true end
      changes = changes + 1
      engine.configure(beside(changes % 2 == 1))
    end}
    assert.is_false(pcall(engine.configure, beside("broken")))
    run_beyond(received())
    assert.equal(0, pauses)
    assert.equal(0, flows.counted("check", "lost"))
    assert.equal(0, flows.counted("check", "mixed_up"))
    engine.configure(beside(true))
    assert.same({FIRST, SECOND}, {workers.has("near"), workers.has("far")})
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
-- The basic1 benchmarks: packets from a Source through a Tee, whose two outputs go to a
-- Sink. Their number is that of the Source's.

local C = require("core.native")
local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local engine = require("core.app")
local lib = require("core.lib")
local link = require("core.link")
local packet = require("core.packet")
local timer = require("core.timer")
local measure = require("program.snabbmark.measure")

local M = {}

local EVENT_APPS = 10
local BREATHS_BETWEEN_LOOKS = 100

-- An app that waits for a timeout in `method`.
local function event_class(method)
  local class = {}
  class.__index = class
  function class:new()
    return setmetatable({n = 0, due = lib.throttle(1)}, class)
  end
  class[method] = function (self)
    if self.due() then self.n = self.n + 1 end
  end
  return class
end

local function add_events(c, method)
  local class = event_class(method)
  for i = 1, EVENT_APPS do config.app(c, "Event" .. i, class) end
end

local function discard(l, n)
  for _ = 1, n do packet.free(link.receive(l)) end
end

-- A sink that has a push method for each of its links, made when it is linked.
local function push_link_class()
  local class = {push_link = {}}
  class.__index = class
  function class:new() return setmetatable({}, class) end
  function class:link(direction, name)
    local l = self[direction][name]
    if direction == "input" then
      self.push_link[name] = function () discard(l, link.nreadable(l)) end
    end
  end
  return class
end

local function graph(sink)
  local c = config.new()
  config.app(c, "Source", basic.Source)
  config.app(c, "Tee", basic.Tee)
  config.app(c, "Sink", sink or basic.Sink)
  config.link(c, "Source.tx -> Tee.rx")
  config.link(c, "Tee.tx1 -> Sink.rx1")
  config.link(c, "Tee.tx2 -> Sink.rx2")
  return c
end

local function sent()
  return link.stats(engine.app_table.Source.output.tx).txpackets
end

-- Have so many packets been sent? Looked at every so many breaths.
local function ending(count)
  local breaths = 0
  return function ()
    breaths = breaths + 1
    return breaths % BREATHS_BETWEEN_LOOKS == 0 and sent() >= count
  end
end

local function run(text, c)
  local count = measure.whole(text, "packets")
  engine.configure(c)
  local began, cpu = C.pg_monotonic(), C.pg_cpu_seconds()
  engine.main{no_report = true, done = ending(count)}
  local seconds = C.pg_monotonic() - began
  local cpu_seconds, packets = C.pg_cpu_seconds() - cpu, sent()
  engine.report()
  print()
  print(("Processed %.1f million packets in %.2f seconds (rate: %.1f Mpps).")
    :format(packets / 1e6, seconds, packets / seconds / 1e6))
  print(("CPU time: %.2f seconds (%.2f ns a packet).")
    :format(cpu_seconds, 1e9 * cpu_seconds / packets))
end

--- basic1: `packets` (text) through the graph, and a timer that does nothing.
function M.plain(packets)
  timer.activate(timer.new("null", function () end, 1e6, "repeating"))
  run(packets, graph())
end

--- basic1_events: beside apps whose pull() waits.
function M.events(packets)
  local c = graph()
  add_events(c, "pull")
  run(packets, c)
end

--- basic1_tick: beside apps whose tick() waits.
function M.ticks(packets)
  local c = graph()
  add_events(c, "tick")
  run(packets, c)
end

--- basic1_push_link: into a sink with push_link.
function M.push_link(packets)
  run(packets, graph(push_link_class()))
end

return M

-- SPDX-License-Identifier: Apache-2.0
-- The engine's own counters (engine/NAME.counter in shared memory), and bringing all
-- counters of this engine up to date for other processes.

local account = require("core.engine.account")
local counter = require("core.counter")
local cycles = require("core.watch.cycles")
local graph = require("core.engine.graph")
local this_engine = require("core.this_engine")
local health_counters = require("core.watch.publish")

local engine_counters = {}

--- The counters of breaths, of packets freed (frees, freebytes, freebits: by apps and
--- by being sent), of configurations; of sleeps until something comes, and how many of
--- these ended as something came (wakeups).
engine_counters.counters = {}
local counters = engine_counters.counters
for _, name in ipairs{"breaths", "frees", "freebits", "freebytes", "configs",
                    "sleeps", "wakeups"} do
  counters[name] = counter.create(this_engine.path("engine/" .. name .. ".counter"), 0)
end

local breaths_of_workers = function () return 0 end

--- Count the breaths of workers, too: `breaths` returns them.
function engine_counters.include(breaths) breaths_of_workers = breaths end

local breaths_here = function () return 0 end

--- The breaths up to now are what `breaths` returns.
function engine_counters.count_breaths(breaths) breaths_here = breaths end

--- Set the counters of breaths and of packets freed to what they are now. It is also
--- done before one of them is read in this process.
function engine_counters.refresh()
  counter.set(counters.breaths, breaths_here() + breaths_of_workers())
  account.sync(counters)
end

for _, name in ipairs{"breaths", "frees", "freebits", "freebytes"} do
  counter.before_reading(counters[name], engine_counters.refresh)
end

-- Counters of packets: all of one moment.
local function count_packets()
  graph.publish()
  this_engine.count_breaths(breaths_here())
  engine_counters.refresh()
end

-- `whole`: what cycles went to as well, and not only ten times a second.
local function count_cycles(_, whole)
  health_counters.sync(graph.apps)
  cycles.sync(breaths_here(), account.progress(), whole)
end

jit.off(count_packets) -- runs seldom: compiling it would only make packets wait
jit.off(count_cycles)

--- The parts of publish(), in order: functions that may be called in breaths that
--- follow each other. Other processes see what has changed after the last of them.
engine_counters.parts = {count_packets, count_cycles, counter.commit}

--- Publish all there is, what cycles went to as well if `now` (else ten times a
--- second).
function engine_counters.publish(now)
  count_packets()
  count_cycles(nil, now)
  counter.commit()
end

--- A configuration has been applied.
function engine_counters.count_configuration() counter.add(counters.configs) end

return engine_counters

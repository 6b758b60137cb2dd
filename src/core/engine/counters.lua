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
--- by being sent), and of configurations.
engine_counters.counters = {}
local counters = engine_counters.counters
for _, name in ipairs{"breaths", "frees", "freebits", "freebytes", "configs"} do
  counters[name] = counter.create(this_engine.path("engine/" .. name .. ".counter"), 0)
end

local breaths_of_workers = function () return 0 end

--- Count the breaths of workers, too: `breaths` returns them.
function engine_counters.include(breaths) breaths_of_workers = breaths end

--- Publish all there is as of breath number `breaths`, what cycles went to as well if
--- `now` (else ten times a second).
function engine_counters.publish(breaths, now)
  graph.publish()
  counter.set(counters.breaths, breaths + breaths_of_workers())
  this_engine.count_breaths(breaths)
  account.sync(counters)
  health_counters.sync(graph.apps)
  cycles.sync(breaths, account.progress(), now)
  counter.commit()
end

--- A configuration has been applied.
function engine_counters.count_configuration() counter.add(counters.configs) end

return engine_counters

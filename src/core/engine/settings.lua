-- SPDX-License-Identifier: Apache-2.0
-- What programs may set of the engine, and read. core.app adds its functions to this
-- very table, which programs know as the global `engine`.

local link = require("core.link")

local settings = {}

--- Never sleep between breaths.
settings.busywait = false
--- When to sleep between breaths in which no packet moves: "never", "adaptive" (polls
--- while packets come close together) or "eager" (at once).
settings.sleep_mode = "adaptive"
--- Breaths per second, or false: sleep by load.
settings.Hz = false
--- Calls of tick() per second; 0 for none.
settings.tick_Hz = 1000
--- The longest sleep of an idle engine, and the current one, in microseconds.
settings.maxsleep = 100
settings.sleep = 0
--- Packets an app should pull in a breath.
settings.pull_npackets = math.floor(link.max / 10)
--- Fuse per-packet apps into loops without links; false to run each by itself.
settings.fuse = true
--- Fuse apps with push() too, where it surely deals with one packet after the other
--- and a family has brought what tells (`lifter`).
settings.lift = true
--- The module that makes per-packet apps of those with push() (core.fuse.fused), by
--- name: a family sets it; false: nobody does.
settings.lifter = false
--- Sample breaths, to tell where the cycles go (core.watch.cycles).
settings.count_cycles = true
--- Seconds after which an engine that doesn't come back from an app is stuck (the
--- watchdog, native/dpdk/watchdog.c); false: never.
settings.watchdog = 5
--- Seconds that packets on their way have at most to run out when a signal ends
--- engine.main; 0: they stay where they are.
settings.drain = 2
--- What becomes of a worker that is stuck: "stop" ends engine.main with an error, with
--- "give up" the others go on.
settings.stuck_worker = "stop"
--- What becomes of an app that raises an error while packets flow, for those without
--- config.on_error: "stop", "restart", "bypass" (where one can; else "stop") or "drop".
settings.on_error = "stop"
--- Print what configure() does.
settings.log = false

--- Name of the app in which the last error was raised, if it is known.
settings.failing = nil
--- Name of the signal that ended engine.main, or false.
settings.interrupted = false
--- Exit status of a selftest() that can't run here.
settings.test_skipped_code = 43

--- Those above that a worker's engine takes over from the main thread's.
settings.SHARED = {"busywait", "sleep_mode", "Hz", "tick_Hz", "maxsleep",
                   "pull_npackets", "fuse", "lift", "lifter", "on_error"}

return settings

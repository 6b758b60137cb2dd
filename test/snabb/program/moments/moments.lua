-- SPDX-License-Identifier: Apache-2.0
-- Timers, done(), the rate of breaths, counters, and arguments in Lua text.

module(..., package.seeall)

local basic = require("apps.basic.basic_apps")
local counter = require("core.counter")
local diary = require("apps.diary.diary")

function run (parameters)
   print("parameters " .. table.concat(main.parameters, ","))
   local c = config.new()
   config.app(c, "source", basic.Source, "100")
   config.app(c, "sink", basic.Sink)
   config.app(c, "diary", diary.Diary, "{ text = 'from text' }")
   config.link(c, "source.output -> sink.input")
   engine.configure(c)

   local calls, once = 0, 0
   timer.activate(timer.new("often", function ()
      calls = calls + 1
      if calls == 2 then
         timer.activate(timer.new("once", function () once = once + 1 end, 1e6))
      end
   end, 2e6, 'repeating'))
   engine.main({ done = function () return calls >= 5 end, no_report = true })
   print(("called: %s once: %d"):format(calls >= 5, once))

   local before = counter.read(engine.breaths)
   engine.Hz = 100
   engine.main({ duration = 0.2, no_report = true })
   engine.Hz = false
   local breaths = tonumber(counter.read(engine.breaths) - before)
   print(("no more than 21 breaths at 100 Hz: %s"):format(breaths <= 21))

   local reports = 0
   engine.report_load = function () reports = reports + 1 end
   engine.main({ duration = 0.01, report = { showload = true } })
   print(("reports of load %d"):format(reports))
   print(("freed %s"):format(counter.read(engine.frees) > 0))
end

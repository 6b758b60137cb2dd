-- SPDX-License-Identifier: Apache-2.0
-- What the engine calls when its configuration changes; each step prints its name.

module(..., package.seeall)

local basic = require("apps.basic.basic_apps")
local diary = require("apps.diary.diary")

local function graph (apps, links)
   local c = config.new()
   for name, app in pairs(apps) do config.app(c, name, app[1], app[2]) end
   for _, spec in ipairs(links) do config.link(c, spec) end
   return c
end

local function step (title, apps, links)
   print("== " .. title)
   local ok, err = pcall(engine.configure, graph(apps, links))
   if not ok then print("error " .. tostring(err)) end
end

function run ()
   local source = { basic.Source, 60 }
   local function a (class, text) return { diary[class], { text = text } } end
   local link_a = "source.a -> a.input"

   step("start", { source = source, a = a("Diary", "a") }, { link_a })
   step("nothing", { source = source, a = a("Diary", "a") }, { "source.a->a.input" })
   step("reconfigure", { source = source, a = a("Diary", "A") }, { link_a })
   step("second link", { source = source, a = a("Diary", "A") },
        { link_a, "source.b -> a.extra" })
   engine.main({ duration = 0.05, no_report = true })
   local app = engine.app_table.a
   print(("ticked %s pushed %s"):format(app.ticks > 0, app.pushed > 0))
   step("less links", { source = source, a = a("Diary", "A") },
        { "source.b -> a.extra" })
   step("another class", { source = source, a = a("Stubborn", "s") },
        { "source.b -> a.extra" })
   step("another argument", { source = source, a = a("Stubborn", "t") },
        { "source.b -> a.extra" })
   step("link to nowhere", { source = source, a = a("Stubborn", "t") },
        { "source.b -> b.extra" })
   engine.main({ duration = 0.01, no_report = true })
   print(("still runs: %s"):format(engine.app_table.a.pushed > 0))
   step("end", {}, {})
   engine.report({ showpackets = true })
end

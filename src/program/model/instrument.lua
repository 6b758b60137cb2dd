-- SPDX-License-Identifier: Apache-2.0
-- Runs a program with its configuration changed, and watches it instead of letting it
-- go on: for program.model.watch and program.model.task_replay.

local C = require("core.native")
local config = require("core.config")
local engine = require("core.app")
local failure = require("core.failure")
local main = require("core.main")

local M = {}

--- The ports of a configuration that packets come from, in order: a list of {name (of
--- the app), output, spec (of the link)}.
function M.sources(c)
  local list = {}
  for spec in pairs(c.links) do
    local from, output = config.parse_link(spec)
    if c.apps[from].class.direct then
      list[#list + 1] = {name = from, output = output, spec = spec}
    end
  end
  table.sort(list, function (a, b) return a.spec < b.spec end)
  return list
end

--- A copy of `c` with an app of `class` behind each port; arg(source) is its argument.
function M.behind_ports(c, class, arg)
  local new, sources = config.new(), M.sources(c)
  for name, app in pairs(c.apps) do config.app(new, name, app.class, app.arg) end
  for spec in pairs(c.links) do new.links[spec] = true end
  for _, source in ipairs(sources) do
    local name = "model_load_" .. source.name .. "_" .. source.output
    config.app(new, name, class, arg(source))
    new.links[source.spec] = nil
    config.link(new, ("%s.%s -> %s.input"):format(source.name, source.output, name))
    config.link(new, (source.spec:gsub("^.-%->", name .. ".output ->")))
  end
  return new
end

--- Run `program` with `args`; change(c) returns the configuration to take for `c`. When
--- it starts the engine, watch(run) is called, where run(seconds) runs it for so long,
--- and then the process ends. `seconds`: for how long it must be able to run.
function M.run(program, args, seconds, change, watch)
  local ports = 0
  local function go_on(c, configure)
    ports = #M.sources(c)
    configure(change(c))
  end
  local function watch_main(options, run)
    if ports == 0 then
      failure.raise("%s has no port whose packets could be counted", program)
    end
    engine.busywait = true
    local done = options.done
    watch(function (duration)
      local ends = C.pg_monotonic() + duration
      run{no_report = true, done = function ()
        if done and done() then
          failure.raise("%s ended too soon; let it run for %g seconds", program,
            seconds)
        end
        return C.pg_monotonic() >= ends
      end}
    end)
    main.exit(0)
  end
  engine.intercept{configure = go_on, main = watch_main}
  main.launch(program, args)
  failure.raise("%s ended without starting the engine", program)
end

return M

-- SPDX-License-Identifier: Apache-2.0
-- `perigee plan PROGRAM ARGS`: what the engine would run, instead of running it.
-- The program runs as ever, up to its first engine.main.

local C = require("core.native")
local cjson = require("cjson")
local RemoteApp = require("core.cpus.remote_app")
local affinity = require("core.cpus.affinity")
local placement = require("core.cpus.placement")
local cli = require("lib.cli")
local config = require("core.config")
local dot = require("lib.picture.dot")
local engine = require("core.app")
local unistd = require("posix.unistd")
local workers = require("core.cpus.workers")
local failure = require("core.failure")
local graph = require("lib.observe.graph")
local main = require("core.main")
local partition = require("core.cpus.partition")
local svg = require("lib.picture.svg")

local M = {summary = "show the loops that the engine would run for a program"}

local sorted_keys = config.sorted_keys

local function parser()
  local p = cli.parser("plan", "Run PROGRAM up to where it would start the engine, "
    .. "and show what the engine would run: the regions of per-packet apps that "
    .. "are fused into one loop, their source, the order of calls in a breath, and "
    .. "what is not fused and why. Ports are opened, but no packet moves.")
  p:usage("Usage: perigee plan [--no-source|--svg|--dot|--json] PROGRAM [ARGS]...")
  p:mutex(p:flag("--no-source", "Leave out the source of the loops."),
    p:flag("--svg", "Draw the graph: regions as boxes, CPUs as colours."),
    p:flag("--dot", "Write it for Graphviz."),
    p:flag("--json", "Write apps, links, regions and CPUs as JSON."))
  p:argument("program", "the program and its arguments"):args("?")
  return p
end

-- The text ---------------------------------------------------------------------

local function writer()
  local lines = {}
  return function (fmt, ...) lines[#lines + 1] = fmt:format(...) end, lines
end

local function show_ends(say, what, specs, region, place)
  if #specs == 0 then say("  %s: none", what) end
  for i, spec in ipairs(specs) do
    local from, _, to = config.parse_link(spec)
    local port
    if place == "from" then port = region.port[from] else port = region.direct[to] end
    local fewer = place == "from" and region.most[i] < C.PORT_BURST
      and (", %d packets at once"):format(region.most[i]) or ""
    local handed = region.description.links[spec].direct ~= 0
    say("  %s: %s%s", what, spec, port and (" (the port itself%s)"):format(fewer)
      or handed and " (handed over in the breath, past the link's ring)" or "")
  end
end

local function show_region(say, number, region, with_source)
  local d = region.description
  say("region %d: %d app%s", number, #d.apps, #d.apps == 1 and "" or "s")
  say("  apps: %s", table.concat(d.apps, ", "))
  local lifted = {}
  for _, name in ipairs(d.apps) do
    if d.app_of[name].lifted_from then lifted[#lifted + 1] = name end
  end
  if #lifted > 0 then
    say("  of these with push(), which is run packet by packet: %s",
      table.concat(lifted, ", "))
  end
  show_ends(say, "entry", d.entries, region, "from")
  show_ends(say, "exit", d.exits, region, "to")
  if with_source then
    say("  source:")
    for line in region.text:gmatch("([^\n]*)\n") do
      say(line == "" and "%s" or "    %s", line)
    end
  end
end

-- Apps by reason: many apps of one kind need one line. In order of their first names.
local function show_not_fused(say, reasons)
  local apps, order = {}, {}
  for _, name in ipairs(sorted_keys(reasons)) do
    local reason = reasons[name]
    if not apps[reason] then apps[reason], order[#order + 1] = {}, reason end
    table.insert(apps[reason], name)
  end
  for _, reason in ipairs(order) do
    say("not fused: %s: %s", table.concat(apps[reason], ", "), reason)
  end
end

local function show_calls(say, list)
  say("a breath calls:")
  for _, name in ipairs(list.pulls) do say("  %s: pull", name) end
  for _, push in ipairs(list.pushes) do
    if push.region then
      say("  %s: its region, from %s", push.app, push.link)
    else
      say("  %s: %s, from %s", push.app, push.method, push.link)
    end
  end
  if #list.pulls + #list.pushes == 0 then say("  nothing") end
  if list.rounds > 1 then
    say("  and the same again, up to %d times in all, while ports give full bursts",
      list.rounds)
  end
end

--- The plan as text: `regions`, `reasons` (by app, why it isn't fused) and `calls`
--- are those of the engine (engine.regions, engine.not_fused, engine.calls()).
function M.text(regions, reasons, list, with_source)
  local say, lines = writer()
  for number, region in ipairs(regions) do
    show_region(say, number, region, with_source)
  end
  show_not_fused(say, reasons)
  show_calls(say, list)
  return table.concat(lines, "\n") .. "\n"
end

-- The program ------------------------------------------------------------------

local function show_origins()
  for _, origin in ipairs(main.origins) do
    print(("modules of %s: %s"):format(origin.what, origin.dir))
  end
end

-- Place the apps where the program would once it has measured their cycles: by their
-- numbers, as no packet moves here.
local function place()
  if not placement.concerns(engine.configuration) then return end
  placement.weigh(nil)
  engine.configure(placement.place(engine.configuration))
  local reasons = placement.reasons()
  reasons[1] = reasons[1] .. " (the program measures cycles first)"
end

-- Why the apps are where they are, if Perigee has placed them.
local function show_reasons()
  local reasons = placement.reasons()
  local placed = partition.is_placed(engine.configuration) -- and so shown below
  for i = 1, placed and math.min(1, #reasons) or #reasons do
    print(reasons[i])
  end
  for _, line in ipairs(placement.told()) do print(line) end
end

--- The text of this state's engine; on a worker too, where what stands for apps of
--- other CPUs needn't be told of.
function M.here(with_source)
  local reasons = {}
  for name, reason in pairs(engine.not_fused) do
    if getmetatable(engine.app_table[name]) ~= RemoteApp then reasons[name] = reason end
  end
  return M.text(engine.regions, reasons, engine.calls(), with_source)
end

-- The NUMA node of a worker's packets: that of a port, if one is known.
local function node_of(cpu, known)
  if known >= 0 then return known end
  return C.pg_numa_of_cpu(affinity.cpu_for(cpu))
end

-- What each worker would run; whether there are any.
local function show_workers(with_source)
  local parts = partition.is_placed(engine.configuration)
    and partition.of(engine.configuration) or {}
  local cpus = next(parts) and workers.report().cpus
  for _, cpu in ipairs(partition.places(parts)) do
    local node = node_of(cpu, cpus[cpu].node)
    print(("on CPU %s%s: %s"):format(cpu,
      node >= 0 and (" (packets in memory of NUMA node %d)"):format(node) or "",
      table.concat(sorted_keys(parts[cpu].apps), ", ")))
    io.write((workers.call(cpu, "program.plan.plan", "here", with_source)
      :gsub("([^\n]+)", "  %1")))
  end
  return next(parts) ~= nil
end

-- The graph that would run, as it would be placed.
local function described()
  if not placement.concerns(engine.configuration) then return graph.describe() end
  placement.weigh(nil)
  return graph.describe(placement.place(engine.configuration).cpus)
end

-- A list that is empty is left out: it would be an object in JSON.
local function json(graph_now)
  for key, value in pairs(graph_now) do
    if #value == 0 then graph_now[key] = nil end
  end
  return cjson.encode(graph_now) .. "\n"
end

-- What draws the picture that is asked for, as text; or nil.
local function drawing(options)
  return options.svg and svg.text or options.dot and dot.text or options.json and json
end

-- What the program prints goes to standard error until restore() is called.
local function divert()
  local out = unistd.dup(1)
  unistd.dup2(2, 1)
  return function ()
    io.stdout:flush()
    unistd.dup2(out, 1)
    unistd.close(out)
  end
end

--- Run with the command line's arguments (a list of strings).
function M.run(args)
  local own, rest = cli.split(args, {})
  local options = cli.parse(parser(), own)
  local program = table.remove(rest, 1)
  if not program then
    failure.usage("plan needs a program: perigee plan PROGRAM ARGS")
  end
  local draw = drawing(options)
  local restore = draw and divert()
  engine.intercept{main = function ()
    if draw then
      local text = draw(described())
      restore()
      io.write(text)
      main.exit(0)
    end
    place()
    show_origins()
    show_reasons()
    local placed = show_workers(not options.no_source)
    if not placed or workers.main_has_apps() then
      if placed then print("on the main thread:") end
      io.write(M.here(not options.no_source))
    end
    main.exit(0)
  end}
  main.launch(program, rest)
  failure.raise("%s ended without starting the engine: there is no plan", program)
end

return M

-- SPDX-License-Identifier: Apache-2.0
-- `perigee run GRAPH`: runs a graph that a file tells (program.run.graph_file), and
-- changes it while it runs when the file is read again.

local cli = require("lib.cli")
local difference = require("core.engine.difference")
local document = require("lib.document.document")
local engine = require("core.app")
local failure = require("core.failure")
local graph_file = require("program.run.graph_file")
local log = require("core.lib.log")
local placement = require("core.cpus.placement")
local timer = require("core.timer")
local watch = require("program.run.watch")

local graph = {}

local LOOK_NANOSECONDS = 0.25e9

local function parser()
  local p = cli.parser("run", "Run the graph that FILE tells, in JSON or YAML "
    .. "(doc/graph.md). SIGHUP lets it be read again; if something is wrong with it "
    .. "then, the graph stays as it was.")
  p:argument("file", "GRAPH.json or GRAPH.yaml"):convert(function (path)
    if document.is_one(path) then return path end
    return nil, ("'%s' isn't named .json, .yaml or .yml"):format(path)
  end)
  p:flag("--check", "Only check the file: no port is opened.")
  p:flag("--watch", "Read the file again whenever it changes.")
  p:option("--duration", "Stop after this time: seconds, or 500ms, 2m, 1h. Without it "
    .. "the graph runs until all files that it reads have ended."):argname("TIME")
    :convert(cli.duration)
  p:flag("--no-report", "Print no report at the end.")
  return p
end

local function size(t)
  local n = 0
  for _ in pairs(t) do n = n + 1 end
  return n
end

local function counted(n, what)
  return ("%d %s%s"):format(n, what, n == 1 and "" or "s")
end

-- What is new, on one line.
local function summary(before, after)
  local d, list = difference.of(before, after), {}
  local changed = #d.restart + #d.reconfig
  for _, item in ipairs{{#d.start, "app", "new"}, {#d.stop, "app", "gone"},
      {changed, "app", "changed"}, {#d.new_links, "link", "new"},
      {#d.old_links, "link", "gone"}} do
    if item[1] > 0 then
      list[#list + 1] = ("%s %s"):format(counted(item[1], item[2]), item[3])
    end
  end
  return #list > 0 and table.concat(list, ", ") or "nothing has changed"
end

-- What stays as it was when the process began.
local function check_constants(run, new)
  for _, key in ipairs{"name", "cpus"} do
    if new[key] ~= run.graph[key] then
      failure.usage("%s: `%s` can't change while it runs: it is %s", new.path, key,
        run.graph[key] and "'" .. run.graph[key] .. "'" or "not set")
    end
  end
end

-- Let the running graph be what the file tells now.
local function reload(run)
  local before = run.graph
  local ok, err = pcall(function ()
    local new = graph_file.load(before.path)
    check_constants(run, new)
    new:apply(engine.configure)
    run.graph = new
  end)
  if ok then
    log.info("%s: read again: %s", before.path, summary(before.configuration,
      run.graph.configuration))
  else
    log.error("%s; the graph stays as it was", tostring(err))
  end
end

-- The files that the running graph was read from.
local function sources(run)
  return {run.graph.path, unpack(run.graph.notes.files)}
end

local function begin_to_watch(run)
  run.files = watch.new(sources(run))
  local look = timer.new("graph", function ()
    if not run.files:changed() then return end
    reload(run)
    run.files:follow(sources(run))
  end, LOOK_NANOSECONDS, "repeating")
  timer.activate(look)
end

local function hang_up(run)
  if run.files then run.files:note() end
  reload(run)
  if run.files then run.files:follow(sources(run)) end
end

local function check(loaded)
  loaded:check()
  local c = loaded.configuration
  print(("%s: %s and %s, nothing wrong found"):format(loaded.path,
    counted(size(c.apps), "app"), counted(size(c.links), "link")))
end

--- Run it.
function graph.run(args)
  local options = cli.parse(parser(), args)
  local loaded = graph_file.load(options.file)
  if options.check then return check(loaded) end
  if loaded.name then engine.claim_name(loaded.name) end
  if loaded.cpus and not placement.wanted() then placement.use(loaded.cpus) end
  loaded:apply(engine.configure)
  local run = {graph = loaded}
  if options.watch then begin_to_watch(run) end
  local ends = options.duration and engine.now() + options.duration or math.huge
  local function done() return engine.now() >= ends or engine.finished() end
  engine.main{done = done, no_report = options.no_report,
              on_signal = {HUP = function () hang_up(run) end}}
end

return graph

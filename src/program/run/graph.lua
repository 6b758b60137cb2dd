-- SPDX-License-Identifier: Apache-2.0
-- `perigee run GRAPH`: runs a graph that a file describes (program.run.graph_file), and
-- changes it while it runs when the file is read again.

local C = require("core.native")
local arguments = require("lib.control.arguments")
local cli = require("lib.cli")
local difference = require("core.engine.difference")
local document = require("lib.document.document")
local engine = require("core.app")
local failure = require("core.failure")
local graph_file = require("program.run.graph_file")
local kept = require("program.run.kept")
local last_good = require("lib.saved.last_good")
local lib = require("core.lib")
local log = require("core.lib.log")
local offer = require("lib.saved.offer")
local named = require("lib.sandbox.named")
local placement = require("core.cpus.placement")
local sandbox = require("lib.sandbox.sandbox")
local server = require("lib.control.server")
local signals = require("core.engine.signals")
local timer = require("core.timer")
local until_turn = require("lib.saved.until_turn")
local watch = require("program.run.watch")
local tables = require("core.lib.tables")

local graph = {}

local LOOK_NANOSECONDS = 0.25e9
local SLICE_SECONDS, SLICE_NANOSECONDS = 0.0002, 1e6 -- of reading, and between such

local function parser()
  local p = cli.parser("run", "Run the graph that FILE describes, in JSON or YAML "
    .. "(doc/graph.md). SIGHUP lets it be read again; if something is wrong with it "
    .. "then, the graph stays as it was.")
  p:argument("file", "GRAPH.json or GRAPH.yaml"):convert(function (path)
    if document.is_one(path) then return path end
    return nil, ("'%s' isn't named .json, .yaml or .yml"):format(path)
  end)
  p:flag("--check", "Only check the file: no port is opened.")
  p:flag("--watch", "Read the file again whenever it changes.")
  last_good.option(p)
  cli.duration_option(p, "Stop after this time: seconds, or 500ms, 2m, 1h. Without it "
    .. "the graph runs until all files that it reads have ended.")
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

local function policies(c) return tables.field(c.apps, "on_error") end

local function is_same(a, b)
  return difference.none(a, b) and lib.equal(a.cpus, b.cpus)
    and lib.equal(policies(a), policies(b))
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
  if #list > 0 then return table.concat(list, ", ") end
  return is_same(before, after) and "nothing has changed"
    or "CPUs or policies for errors have changed"
end

-- What stays as it was when the process began.
local function check_constants(run, new)
  for _, key in ipairs{"name", "keep", "standby", "replicate_to", "cpus"} do
    if new[key] ~= run.graph[key] then
      failure.usage("%s: `%s` can't change while it runs: it is %s", new.path, key,
        run.graph[key] and "'" .. tostring(run.graph[key]) .. "'" or "not set")
    end
  end
end

-- The files that the running graph was read from.
local function sources(run)
  return {run.graph.path, unpack(run.graph.notes.files)}
end

-- The running graph becomes `new`. One that is the same as before is left alone:
-- packets would stand still while it is arranged.
local function become(run, new)
  local before = run.graph
  check_constants(run, new)
  if not is_same(before.configuration, new.configuration) then
    new:apply(engine.configure_meanwhile)
  end
  run.graph = new
  if run.memory then run.memory:runs() end
  local changes = summary(before.configuration, new.configuration)
  log.info("%s: read again: %s", new.path, changes)
  return changes
end

-- A function that yields whenever it is called later than SLICE_SECONDS after the
-- coroutine has gone on.
local function pausing()
  local ends = C.pg_monotonic() + SLICE_SECONDS
  return function ()
    if C.pg_monotonic() < ends then return end
    coroutine.yield()
    ends = C.pg_monotonic() + SLICE_SECONDS
  end
end

-- A coroutine that reads the file again, or `text` in its place, bit by bit, as packets
-- wait meanwhile: it returns true and the graph, or false and what is wrong.
local function reader(run, text)
  return coroutine.create(function ()
    local path = run.graph.path
    if text then return pcall(graph_file.parse, path, text, pausing()) end
    return pcall(graph_file.load, path, pausing())
  end)
end

-- Go on reading; at the end let the running graph be what was read.
local function go_on(run)
  local _, ok, result = coroutine.resume(run.reader)
  if coroutine.status(run.reader) ~= "dead" then return end
  run.reader = nil
  timer.cancel(run.slices)
  if ok then ok, result = pcall(become, run, result) end
  if not ok then log.error("%s; the graph stays as it was", tostring(result)) end
  run.reading.ok, run.reading.result = ok, tostring(result)
  if run.files then run.files:follow(sources(run)) end
  if run.again then run.begin() end
end

-- Begin to read; what is known of that later: ok, and what has changed or is wrong.
local function start_reading(run, text)
  if run.files then run.files:note() end
  run.reader, run.reading = reader(run, text), {}
  timer.activate(run.slices)
  return run.reading
end

-- What begins to read the file again, or does so once more after this time.
local function reloading(run)
  run.slices = timer.new("graph file", function () go_on(run) end, SLICE_NANOSECONDS,
    "repeating")
  function run.begin()
    run.again = run.reader ~= nil
    if not run.again then start_reading(run) end
  end
end

-- The request `reconfigure` (doc/control.md): another text for the
-- graph, or its file again. It is answered once that runs, or has been refused.
local function reconfigure(run, request)
  local text, reading = arguments.text(request, "text"), nil
  if sandbox.entered() then
    error("--sandbox lets no more files be opened, so the graph can't change: start "
      .. "the program again", 0)
  end
  return function ()
    if not reading and run.reader then return nil end
    reading = reading or start_reading(run, text)
    if reading.ok == nil then return nil end
    if reading.ok then return {reconfigured = true, changes = reading.result} end
    error(reading.result .. "; the graph stays as it was", 0)
  end
end

local function begin_to_watch(run)
  run.files = watch.new(sources(run))
  local look = timer.new("graph files", function ()
    if run.files:changed() then run.begin() end
  end, LOOK_NANOSECONDS, "repeating")
  timer.activate(look)
end

local function check(loaded)
  loaded:check()
  local c = loaded.configuration
  print(("%s: %s and %s, nothing wrong found"):format(loaded.path,
    counted(size(c.apps), "app"), counted(size(c.links), "link")))
end

-- The graph of the `file`, or of what is remembered of it at the `path`, runs. Where
-- this process waits for its turn before, and the file changes meanwhile, again() is
-- called as it takes over.
local function started(file, path, again)
  local loaded = graph_file.parse(file, document.text(path))
  if loaded.name then engine.claim_name(loaded.name) end
  kept.begin(loaded)
  until_turn.watch({loaded.path, unpack(loaded.notes.files)}, again)
  if loaded.cpus and not placement.wanted() then placement.use(loaded.cpus) end
  local ok, err = pcall(loaded.apply, loaded, engine.configure)
  if ok then return loaded end
  if loaded.name then engine.unclaim_name() end
  error(err, 0)
end

local function remembering(run, options)
  local name = "graph" .. options.file:match("%.%w+$")
  local memory = last_good.new(options.last_good, name, function (put)
    put(run.graph.text)
  end)
  memory:let_in()
  return memory
end

--- Run it.
function graph.run(args)
  local options = cli.parse(parser(), args)
  if not options.check then signals.take({HUP = true}, true) end -- from the start
  if options.check then return check(graph_file.load(options.file)) end
  if options.watch and named.wanted then
    failure.usage("--watch opens files while packets flow, so it can't be with "
      .. "--sandbox")
  end
  local run = {}
  run.memory = options.last_good and remembering(run, options)
  local hang_up = sandbox.unless_entered("SIGHUP", function () run.begin() end)
  local function start(path) return started(options.file, path, hang_up) end
  run.graph = run.memory and run.memory:start(options.file, start)
    or start(options.file)
  offer.let_in(function () return run.graph.text end)
  reloading(run)
  server.commands.reconfigure = {arguments = {text = true}, run = function (_, request)
    return reconfigure(run, request)
  end}
  if options.watch then begin_to_watch(run) end
  local ends = options.duration and engine.now() + options.duration or math.huge
  local function done() return engine.now() >= ends or engine.finished(), ends end
  engine.main{done = done, in_rows = true, no_report = options.no_report,
              on_signal = {HUP = hang_up}}
end

return graph

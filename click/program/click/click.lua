-- SPDX-License-Identifier: Apache-2.0
-- `perigee click`: runs a configuration of Click's, with the options of FastClick's
-- `click`. The language makes the flat configuration, click.router the rest.

local C = require("core.native")
local control = require("program.click.control")
local control_sockets = require("program.click.control_sockets")
local dpdk = require("program.click.dpdk")
local errors = require("click.errors")
local handlers = require("program.click.handlers")
local language = require("click.language")
local main = require("core.main")
local options = require("program.click.options")
local placement = require("core.cpus.placement")
local reconfigure = require("program.click.reconfigure")
local registry = require("click.registry")
local requirements = require("click.language.requirements")
local saving = require("program.click.saving")
local source = require("program.click.source")
local stat = require("posix.sys.stat")

local M = {summary = "run a Click configuration", own_cpus = true}

local SPECS = {
  {names = {"file"}, letter = "f", value = "FILE", field = "file",
    once = "router configuration", help = "Read the configuration from FILE."},
  {names = {"expression"}, letter = "e", value = "EXPR", field = "file",
    also = "expression", once = "router configuration",
    help = "The configuration is EXPR."},
  {names = {"threads"}, letter = "j", value = "N", field = "threads", number = true,
    help = "Run on N CPUs (1)."},
  {names = {"affinity", "cpu"}, letter = "a", value = "N", field = "affinity",
    number = true, optional = true, help = "Take the CPUs from N on (0)."},
  {names = {"cpus"}, value = "LIST", field = "cpu_list",
    help = "Run a copy on each of these CPUs (0-3), if the configuration allows it."},
  {names = {"dpdk"}, field = "dpdk", up_to = "--",
    help = "Words for DPDK up to '--'; those of -l or -c are the CPUs."},
  {names = {"device"}, value = "NAME=PORT", field = "devices", list = true,
    help = "Use a port of Perigee's as the device NAME."},
  {names = {"port"}, letter = "p", value = "PORT", field = "ports", list = true,
    help = "Listen for this user's control connections on a TCP port;"
      .. " 0.0.0.0:PORT: for anybody's; N=PORT: take PORT for device N."},
  {names = {"files"}, value = "FOLDER", field = "files",
    help = "Where others may connect, handlers use files below FOLDER; else none."},
  {names = {"unix-socket"}, letter = "u", value = "FILE", field = "unix_sockets",
    list = true, help = "Listen for control connections on a Unix socket."},
  {names = {"socket"}, value = "FD", field = "sockets", list = true, number = true,
    help = "A file descriptor that is a control connection."},
  {names = {"allow-reconfigure"}, letter = "R", field = "allow_reconfigure",
    help = "Provide the handler 'hotconfig'."},
  {names = {"save-config"}, value = "FILE", field = "save_config",
    help = "Save what hotconfig changes; if FILE is there at the start, it is run."},
  {names = {"last-good"}, value = "FOLDER", field = "last_good",
    help = "Remember what has run for 5 s; run that when the newest can't be."},
  {names = {"handler"}, letter = "h", value = "ELEMENT.H", field = "handlers",
    list = true, help = "Write what this read handler says, at the end."},
  {names = {"exit-handler"}, letter = "x", value = "ELEMENT.H", field = "exit_handler",
    once = "--exit-handler", help = "Its value is the exit status."},
  {names = {"output"}, letter = "o", value = "FILE", field = "output",
    once = "output file", help = "Write the flat configuration to FILE."},
  {names = {"quit"}, letter = "q", field = "quit", help = "Don't run it."},
  {names = {"time"}, letter = "t", field = "time", help = "Say how long it ran."},
  {names = {"no-warnings"}, letter = "w", field = "warnings", off = true,
    help = "Write no warnings."},
  {names = {"warnings"}, field = "warnings", help = "Write warnings."},
  {names = {"simtime", "simulation-time"}, value = "T", field = "simtime",
    number = true, optional = true,
    help = "Let time pass as fast as there is nothing to do."},
  {names = {"simtick"}, value = "NS", field = "simtick", number = true,
    help = "Simulated time goes on by NS when it is read (1)."},
  {names = {"clickpath"}, letter = "C", value = "PATH", field = "clickpath",
    help = "Look for libraries in PATH."},
  {names = {"explain"}, value = "CLASS", field = "explain", optional = true,
    help = "Write what an element class is for, or list all."},
  {names = {"dot"}, field = "dot", help = "Draw it, for Graphviz, and don't run it."},
  {names = {"help"}, field = "help", help = "Write this."},
  {names = {"version"}, letter = "v", field = "version", help = "Write the version."},
}

local USAGE = "Usage: click [OPTION]... [VAR=VALUE]... [FILE]\n"

-- The router -----------------------------------------------------------------------

-- Of the ports that --port was given, those of control sockets; the others, N=PORT,
-- are ports of Perigee's by the numbers that configurations have for them.
local function split_ports(o)
  local listening, devices = {}, {}
  for _, text in ipairs(o.ports or {}) do
    local number, port = text:match("^(%d+)=(.+)$")
    if number then devices[number] = port else listening[#listening + 1] = text end
  end
  for _, text in ipairs(o.devices or {}) do
    local name, port = text:match("^([^=]+)=(.+)$")
    if not name then return ("'%s': write --device NAME=PORT"):format(text) end
    devices[name] = port
  end
  o.ports, o.devices = listening, devices
end

-- What is wrong with the folder that --files names, or nil.
local function problem_of_files(folder)
  local found = folder and stat.stat(folder)
  if folder and not (found and stat.S_ISDIR(found.st_mode) ~= 0) then
    return ("--files %s: there is no such folder"):format(folder)
  end
end

local function read_flat(text, file, o, reporter)
  local flat = language.read{text = text, file = file, errors = reporter,
    variables = o.variables, class_of = registry.find,
    class_names = registry.names, packages = requirements.PACKAGES}
  for _, e in ipairs(flat and control_sockets.elements(o) or {}) do
    table.insert(flat.elements, e)
  end
  return flat
end

local LONGEST_TICK = 1e9 -- nanoseconds

-- Seconds that simulated time goes on by; nil: as usual.
local function simtick_of(o, reporter)
  if not o.simtick then return nil end
  if o.simtick >= 0 and o.simtick <= LONGEST_TICK then return o.simtick * 1e-9 end
  reporter:error("--simtick takes 0 to %d nanoseconds, not '%s'", LONGEST_TICK,
    o.simtick)
end

-- The router of a text, or nil; `old` is one that runs, which it will replace.
local function make_router(text, file, o, reporter, old)
  local flat = read_flat(text, file, o, reporter)
  local simtime = o.simtime == true and 1e9 or o.simtime
  local simtick = simtick_of(o, reporter)
  if o.simtick and not simtick then return nil end
  return flat and require("click.router.router").new(flat, {
    errors = reporter, old = old, simtime = simtime, simtick = simtick,
    threads = o.threads,
    variables = o.variables, ports = o.devices,
    affinity = o.affinity == true and 0 or o.affinity,
    cpus = o.cpus, files = o.files, allow_reconfigure = o.allow_reconfigure})
end

-- Running --------------------------------------------------------------------------

-- Take what DPDK is told; false, if that is wrong.
local function take_dpdk(o, reporter)
  local cpus, problem = dpdk.take(o.dpdk or {})
  if problem then return reporter:error("%s", problem) or false end
  o.cpus, o.threads = cpus, cpus and #cpus or o.threads
  return true
end

-- Let it run on one CPU: run(changed) does.
local function start_router(run, router, o, reporter)
  run.router, run.run = router, function () end
  if o.quit then return end
  if #router.elements == 0 then
    return reporter:warning("%s: configuration has no elements, exiting", run.file)
  end
  local ok, err = pcall(router.activate, router)
  if not ok then
    router:close()
    error(err, 0)
  end
  control.serve(router, nil, o.allow_reconfigure)
  control.let_in()
  local make = o.allow_reconfigure and function (text, errh, old)
    return make_router(text, "config", o, errh, old)
  end
  function run.run(changed)
    run.router = reconfigure.run(router, make, changed)
  end
end

-- Does StaticThreadSched name threads other than the first?
local function names_threads(router)
  for _, e in ipairs(router.elements) do
    if (e.home_thread or 0) ~= 0 then return true end
  end
  return false
end

-- Start it on the threads that StaticThreadSched names. Returns the router, which may
-- be another one, and what runs it if it has started. (What runs several takes as long
-- to load as all else: it is loaded where that is asked for.)
local function start_threads(router, run, o, reporter)
  if o.quit or not names_threads(router) then return router end
  local threads = require("program.click.threads")
  local plan = threads.plan(router, o, reporter)
  if not plan then return router end
  local go = threads.start(router, plan, run.text, o, reporter)
  if go then return router, go end
  return make_router(run.text, run.file, o, reporter)
end

-- Start copies on several CPUs, if that is asked for and can be: what runs them.
local function start_copies(router, run, o, reporter)
  local several = o.cpus or placement.wanted() or (o.threads or 1) > 1
  local copies = several and require("program.click.copies")
  local cpus = copies and not o.quit and #router.elements > 0 and copies.wanted(o)
  if not cpus then
    placement.use(nil) -- elements aren't placed one by one
    return nil
  end
  local list = copies.division(router, #cpus)
  local why, meets = copies.problem(router, o, #cpus, list)
  local unbalanced = copies.explain(router, cpus, list, why, meets)
  if why and placement.wanted() then
    reporter:warning("it runs on one CPU: %s", why)
  elseif unbalanced then
    reporter:warning("flows stay on their CPUs: %s", unbalanced)
  end
  placement.use(nil)
  if why then return nil end
  return copies.start(router, run.text, o, cpus, list, meets)
end

-- Start what the options name: {text =, router =, run = a function}; or nil.
local function start(o, reporter)
  local run = {}
  run.text, run.file = source.read(o, reporter)
  local router = run.text and make_router(run.text, run.file, o, reporter)
  if not router then return nil end
  run.written = not o.output
    or source.write(o.output, router:handler_read("flatconfig"), reporter)
  run.began = handlers.clock()
  local settled, go = start_threads(router, run, o, reporter)
  if not settled then return nil end
  go = go or start_copies(settled, run, o, reporter)
  run.router, run.run = settled, go
  if not go then start_router(run, settled, o, reporter) end
  return run
end

local function run_started(o, reporter)
  local run, changed
  if o.quit then run = start(o, reporter)
  else run, changed = saving.start(o, reporter, start) end
  if not run then return 1 end
  run.run(changed)
  local router = run.router
  if o.time then print(handlers.elapsed(run.began)) end
  local ok = handlers.print_all(router, o.handlers or {}, reporter) and run.written
  local status = ok and 0 or 1
  if o.exit_handler then status = handlers.status(router, o.exit_handler, reporter) end
  router:close()
  return C.pg_has_failed() and math.max(status, 1) or status
end

local function run(o)
  local reporter = errors.to_stderr()
  reporter.quiet = o.warnings == false
  if not take_dpdk(o, reporter) then return 1 end
  if o.cpu_list then placement.use(o.cpu_list) end
  local problem = split_ports(o) or problem_of_files(o.files) or saving.problem(o)
  if problem then
    reporter:error("%s", problem)
    return 1
  end
  source.use_clickpath(o.clickpath)
  return run_started(o, reporter)
end

-- Other than running it ------------------------------------------------------------

-- The page of a class, or the list of all.
local function explain(name)
  local families = require("click.pages.families")
  if not name then return io.write(families.text()) and 0 end
  local text, problem = families.explain(name)
  if text then return io.write(text) and 0 end
  io.stderr:write("click: ", problem, "\n")
  return 1
end

local function draw(o)
  local reporter = errors.to_stderr()
  source.use_clickpath(o.clickpath)
  local text, file = source.read(o, reporter)
  local flat = text and read_flat(text, file, o, reporter)
  local drawn = flat
    and require("click.router.picture").text(flat, registry.find, reporter)
  return drawn and source.write(o.output or "-", drawn, reporter) and 0 or 1
end

-- What the options ask for; the exit status.
local function act(o)
  if o.explain then return explain(o.explain ~= true and o.explain or o.file) end
  return (o.dot and draw or run)(o)
end

local MUCH = 40 -- of an expression

--- What `perigee ps` is to call it: with the file's name, or how the expression begins.
function M.title(args)
  local o = options.parse(SPECS, args)
  if not (o and o.expression) then return "click " .. (o and o.file or "") end
  local text = o.file:gsub("[%s%c]+", " "):match("^ ?(.-) ?$")
  if #text > MUCH then text = text:sub(1, MUCH - 3) .. "..." end
  return "click -e " .. text
end

--- Run with the command line's arguments (a list of strings).
function M.run(args)
  local o, problem = options.parse(SPECS, args)
  if not o then
    io.stderr:write("click: ", problem, "\n", USAGE,
      "Try 'click --help' for more information.\n")
    return main.exit(1)
  elseif o.help then
    io.write("Run a configuration of Click's.\n\n", USAGE, "\nOptions:\n",
      options.help(SPECS))
  elseif o.version then
    print("click (Perigee) " .. main.release)
  else
    local status = act(o)
    if status ~= 0 then main.exit(status) end
  end
end

return M

-- SPDX-License-Identifier: Apache-2.0
-- `perigee nfv traffic PORT|soft CONFIG SOCKET%s`: runs the configuration of a file,
-- and that of the file as it changes.

local C = require("core.native")
local bench = require("program.nfv.bench")
local cli = require("lib.cli")
local document = require("lib.document.document")
local engine = require("core.app")
local failure = require("core.failure")
local file = require("program.nfv.file")
local format = require("program.nfv.format")
local graph = require("program.nfv.graph")
local last_good = require("lib.saved.last_good")
local offer = require("lib.saved.offer")
local plan = require("core.engine.plan")
local sandbox = require("lib.sandbox.sandbox")
local signals = require("core.engine.signals")
local timer = require("core.timer")
local until_turn = require("lib.saved.until_turn")
local watch = require("program.run.watch")

local traffic = {}

local LOOK_NANOSECONDS = 0.25e9
local NS_PER_SECOND = 1e9

local function parser()
  local p = cli.parser("nfv traffic",
    "Switch virtual machines between their vhost-user "
    .. "sockets and a port, as CONFIG says. When that file changes it is read again; "
    .. "if something is wrong with it then, all stays as it was.")
  p:argument("port", "the port to the network, or `soft` for none")
  p:argument("config", "the configuration, a Lua file (--long-help)")
  p:argument("socket", "the virtual machines' sockets; %s stands for a port's port_id")
  p:option("-k --link-report-interval",
    "Print what links carried each so many seconds.")
    :default("0"):argname("SECONDS"):convert(cli.number(0))
  p:option("-l --load-report-interval",
    "Print the load each so many seconds (0: never).")
    :default("1"):argname("SECONDS"):convert(cli.number(0))
  p:option("-D --debug-report-interval", "Let apps report each so many seconds.")
    :default("0"):argname("SECONDS"):convert(cli.number(0))
  p:flag("-b --busy", "Never sleep.")
  p:option("-B --benchmark", "Measure: end when so many packets have been sent to the "
    .. "network."):argname("PACKETS"):convert(cli.count)
  p:flag("--server", "Make the sockets; QEMU connects to them. Without it QEMU makes "
    .. "them (server=on).")
  p:flag("--dry-run", "Only check the configuration.")
  last_good.option(p)
  cli.duration_option(p)
  p:flag("-H --long-help", "Print this, and the format of configurations.")
  return p
end

local function say(fmt, ...)
  io.stderr:write("perigee: ", fmt:format(...), "\n")
end

-- A function from a port's id to its socket's path.
local function sockets(pattern, ports)
  local rest, count = pattern:gsub("%%s", "")
  if rest:find("%%") or count > 1 then
    failure.usage("the socket '%s': one %%s stands for a port's port_id, and no other "
      .. "%% is allowed", pattern)
  elseif count == 0 and #ports > 1 then
    failure.usage("the socket '%s' is one for %d ports; write %%s where a port's "
      .. "port_id is to stand", pattern, #ports)
  end
  return function (id) return (pattern:gsub("%%s", id)) end
end

-- The configuration that the file tells now, or that at the `path` in its place.
local function load(options, path)
  local text = document.text(path or options.config)
  local ports, notes = file.parse(path or options.config, text)
  if #ports > C.pg_most_ports() then
    failure.usage("%s: it has %d ports; DPDK has room for %d in a process",
      options.config, #ports, C.pg_most_ports())
  end
  local nic = options.port ~= "soft" and options.port or nil
  local trunk = options.benchmark and not nic and bench.TRUNK or nil
  local c = graph.of(ports, nic, sockets(options.socket, ports), options.server, trunk)
  return {configuration = c, ports = ports, notes = notes, text = text}
end

-- What failures of the engine say gets the file in front.
local function within(path, f, ...)
  local ok, err = pcall(f, ...)
  if ok then return end
  if not failure.is(err) then error(err, 0) end
  local raise = err.status == 2 and failure.usage or failure.raise
  raise("%s: %s", path, tostring(err))
end

local function counted(n) return ("%d port%s"):format(n, n == 1 and "" or "s") end

local function notes_of(loaded, path)
  for _, note in ipairs(loaded.notes) do say("%s: %s", path, note) end
end

local function reload(run, options)
  local ok, err = pcall(function ()
    local new = load(options)
    within(options.config, engine.configure, new.configuration)
    run.text = new.text
    if run.memory then run.memory:runs() end
    notes_of(new, options.config)
    say("%s: read again: %s", options.config, counted(#new.ports))
  end)
  if not ok then say("%s; the graph stays as it was", tostring(err)) end
end

local function every(seconds, name, func)
  if seconds <= 0 then return end
  timer.activate(timer.new(name, func, seconds * NS_PER_SECOND, "repeating"))
end

local function follow(run, options)
  local files = watch.new{options.config}
  local again = sandbox.unless_entered(options.config, function ()
    reload(run, options)
  end)
  timer.activate(timer.new("nfv", function ()
    if files:changed() then again() end
  end, LOOK_NANOSECONDS, "repeating"))
  return function ()
    files:note()
    again()
  end
end

local function check(options)
  local loaded = load(options)
  within(options.config, plan.check, loaded.configuration)
  print(("%s: %s, nothing wrong found"):format(options.config, counted(#loaded.ports)))
end

local REMEMBERED = "nfv.conf" -- in the folder of --last-good

-- The configuration of the file, or else the last that worked, runs: its text is
-- `run.text`.
local function start(run, options)
  local function begin(path)
    local loaded = load(options, path)
    within(path, engine.configure, loaded.configuration)
    notes_of(loaded, path)
    run.text = loaded.text
    print(("nfv traffic: %s: %s"):format(path, counted(#loaded.ports)))
  end
  if not options.last_good then return begin(options.config) end
  run.memory = last_good.new(options.last_good, REMEMBERED, function (put)
    put(run.text)
  end)
  run.memory:let_in()
  run.memory:start(options.config, begin)
end

local function run_bench(options)
  local loaded = load(options)
  notes_of(loaded, options.config)
  bench.run(loaded.configuration, options.port ~= "soft" and graph.NIC or nil,
    options.benchmark)
end

--- Run the command; `args` as in its usage.
function traffic.run(args)
  local p = parser()
  for _, word in ipairs(args) do
    if word == "-H" or word == "--long-help" then
      io.write(p:get_help(), "\n", format, "\n")
      return
    end
  end
  local options = cli.parse(p, args)
  if options.dry_run then return check(options) end
  if not options.benchmark then signals.take({HUP = true}, true) end -- from the start
  engine.busywait = options.busy or engine.busywait
  if options.benchmark then return run_bench(options) end
  local run, hang_up = {}, nil
  until_turn.watch({options.config}, function () hang_up() end)
  start(run, options)
  io.flush()
  offer.let_in(function () return run.text end)
  every(options.load_report_interval, "load", engine.report_load)
  every(options.link_report_interval, "links", engine.report_links)
  every(options.debug_report_interval, "apps", engine.report_apps)
  every(1, "flush", io.flush)
  hang_up = follow(run, options)
  engine.main{duration = options.duration, on_signal = {HUP = hang_up}}
end

return traffic

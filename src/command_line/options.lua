-- SPDX-License-Identifier: Apache-2.0
-- The options that all programs have, before the program's name. `perigee --help`, the
-- man page and shells' completions are made from this list.

local failure = require("core.failure")
local log = require("core.lib.log")
local tables = require("core.lib.tables")

local options = {}

local function limit_packets(text)
  local n, most = tonumber(text), 2 ^ 24
  if not n or n < 1024 or n > most or n % 1 ~= 0 then
    failure.usage("--packets %s: give a number from 1024 to %d", text, most)
  end
  require("core.pool").limit(n)
end

local function set_watchdog(text)
  local seconds = tonumber(text)
  local allowed = require("core.engine.main_options").is_patience
  if text ~= "off" and not allowed(seconds) then
    failure.usage("--watchdog %s: give a number of seconds from 0.2 on, or 'off'", text)
  end
  require("core.engine.settings").watchdog = seconds or false
end

local function set_on_error(text)
  require("core.engine.settings").on_error =
    require("core.on_error").check("--on-error", text)
end

local function set_drain(text)
  local seconds = require("lib.quantity").duration(text)
  if not seconds then
    failure.usage("--drain %s: give a time such as 500ms or 2s, or 0", text)
  end
  require("core.engine.settings").drain = seconds
end

local SLEEPS = {never = true, adaptive = true, eager = true}

local function set_sleep(text)
  if not SLEEPS[text] then
    failure.usage("--sleep %s: give one of never, adaptive, eager", text)
  end
  require("core.engine.settings").sleep_mode = text
end

-- With the names allowed, for --log-format and --log-level.
local function set_log(option, names, set)
  return function (text)
    if not names[text] then
      local list = tables.sorted_keys(names)
      failure.usage("%s %s: give one of %s", option, text, table.concat(list, ", "))
    end
    set(text)
  end
end

--- Is there to be a control socket? Where are metrics to be served, or nil?
options.control, options.metrics = true, nil

--- Under which name does it keep its state, or nil?
options.keep = nil

--- Is the process to wait for its turn?
options.standby = false

--- May a program give the name that --standby needs? It calls net.keep.standby's
--- check() then.
options.may_be_named = false

--- Has the process its own replicator?
options.replicate = false

local function set_metrics(text)
  require("lib.control.listen").parse("--metrics", text)
  options.metrics = text
end

local function check()
  require("core.check.mode").turn_on()
end

-- `perigee run GRAPH.yaml --check` has another meaning.
local function checks_a_graph(program, args)
  return program == "run" and require("lib.document.document").first_of(args) ~= nil
end

--- Each {name, other name or nil, value = what it takes, help = lines, take =
--- function, anywhere = may it also be among the program's arguments?, early = is it
--- taken before the others?, is_own(program, arguments) = is it one of the program's
--- own there?}. One without a value is all there is to do, unless it is early. `shows`
--- instead of `take`: what it prints.
options.list = {
  {"--port", value = "PCI=PORT",
    help = {"use another port in the place of a PCI address, or of a",
            "device's number (--port 0000:01:00.0=pcap:rx=a.pcap)"},
    take = function (text) require("lib.port.spec").replace_option(text) end},
  {"--packets", value = "N",
    help = {"let the packet pool grow to N packets (default 262144)"},
    take = limit_packets},
  {"--cpus", value = "LIST",
    help = {"run the program's apps on these CPUs (1-4 or 0,2), also",
            "written behind the program: perigee PROGRAM --cpus 1-4"},
    take = function (text) require("core.cpus.placement").use(text) end},
  {"--balance", early = true, anywhere = true,
    help = {"with --cpus, while packets pass: let flows move from the busiest",
            "CPU to the least busy one"},
    take = function () require("core.cpus.balancer").want() end},
  {"--watchdog", value = "SECONDS",
    help = {"end a program of which an app doesn't return for so long",
            "(default 5), or never: off"},
    take = set_watchdog},
  {"--results", early = true, anywhere = true,
    help = {"print what was measured as lines 'RESULT-NAME value', for",
            "programs that run experiments, such as NPF"},
    take = function () require("core.engine.results").want() end},
  {"--check", early = true, anywhere = true,
    help = {"find packets that apps use wrongly (freed twice, used when",
            "freed, sent twice, never freed, ...); this is slow"},
    take = check, is_own = checks_a_graph},
  {"--no-fuse", early = true, anywhere = true,
    help = {"run each app by itself, between links, so that `perigee top`",
            "says what each costs; slower than fused in one loop"},
    take = function () require("core.engine.settings").fuse = false end},
  {"--on-error", value = "POLICY", anywhere = true,
    help = {"what becomes of an app that raises an error: stop (the",
            "program ends: the default), restart, bypass or drop"},
    take = set_on_error},
  {"--sleep", value = "WHEN", anywhere = true,
    help = {"when to sleep while no packet comes: never, adaptive (soon after",
            "the last one: the default) or eager (at once)"},
    take = set_sleep},
  {"--eal", value = '"ARGUMENTS"', help = {"pass these on to DPDK"},
    take = function (text) require("core.eal").pass(text) end},
  {"--group", value = "GROUP",
    help = {"let members of the group read counters (perigee top);",
            "else only this user can"},
    take = function (text) require("core.shm").share_with(text) end},
  {"--no-control", early = true, anywhere = true,
    help = {"have no control socket, by which `perigee trace` and",
            "others look into a running process"},
    take = function () options.control = false end},
  {"--metrics", value = "PLACE", anywhere = true,
    help = {"serve OpenMetrics at http://127.0.0.1:PORT/metrics, a TCP",
            "port; or at ADDRESS:PORT, or unix:PATH"},
    take = set_metrics},
  {"--sandbox", early = true, anywhere = true,
    help = {"once packets flow, start no program, and open no file but",
            "those that are named (doc/security.md)"},
    take = function () require("lib.sandbox.sandbox").want() end},
  {"--sandbox-path", value = "PATH", anywhere = true,
    help = {"with --sandbox: this file, or all in this folder, may be",
            "read and written; may be given several times"},
    take = function (path) require("lib.sandbox.named").path(path) end},
  {"--keep", value = "NAME", anywhere = true,
    help = {"keep flows and addresses that were learned under this name, so",
            "that the next process goes on with them (doc/state.md)"},
    take = function (name)
      options.keep = name
      require("net.keep.apps").use(name)
    end},
  {"--standby", early = true, anywhere = true,
    help = {"with --keep NAME: if another process has the name, wait, ready",
            "to run, and take over when that one ends (doc/state.md)"},
    take = function ()
      options.standby = true
      require("net.keep.standby").want(require("lib.replica.turn"))
    end},
  {"--replicate", value = '"ADDRESS [OPTIONS]"', early = true, anywhere = true,
    help = {"with --keep NAME: run `perigee replicate NAME ADDRESS OPTIONS`,",
            "and stand by while this host isn't master (doc/failover.md)"},
    take = function (text)
      options.standby, options.replicate = true, true
      require("lib.replica.child").want(text)
    end},
  {"--drain", value = "TIME",
    help = {"let packets on their way run out for so long at most",
            "when a signal ends the program (default 2s)"},
    take = set_drain},
  {"--log-format", value = "FORM", anywhere = true,
    help = {"what is said on stderr: text, timed, json, or journal (the",
            "default below systemd)"},
    take = set_log("--log-format", log.FORMATS, function (text) log.begin(text) end)},
  {"--log-level", value = "LEVEL", anywhere = true,
    help = {"say nothing below: error, warning or info (the default; if set,",
            "it also says why hugepages aren't used)"},
    take = set_log("--log-level", log.LEVELS,
      function (text) log.begin(nil, text) end)},
  {"-h", "--help", help = {"show this"}, shows = "help"},
  {"-v", "--version", help = {"show the versions of Perigee, DPDK and LuaJIT,",
    "and known faults of the latter two"},
    shows = "version"},
}

return options

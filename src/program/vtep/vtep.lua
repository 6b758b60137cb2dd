-- SPDX-License-Identifier: Apache-2.0
-- `perigee vtep`: a VXLAN tunnel end point between two ports.

local ffi = require("ffi")
local C = require("core.native")
local cli = require("lib.cli")
local config = require("core.config")
local engine = require("core.app")
local files = require("core.lib.files")
local arguments = require("program.vtep.arguments")
local file = require("program.vtep.file")
local last_good = require("lib.saved.last_good")
local log = require("core.lib.log")
local offer = require("lib.saved.offer")
local reports = require("program.vtep.reports")
local results = require("program.vtep.results")
local Port = require("apps.port.port").Port
local sandbox = require("lib.sandbox.sandbox")
local addresses = require("net.address.address")
local signals = require("core.engine.signals")
local termination = require("core.cpus.termination")
local text = require("program.vtep.text")
local until_turn = require("lib.saved.until_turn")
local vtep = require("apps.vtep.vtep")

local M = {summary = "join Ethernet segments over IP: a VXLAN tunnel end point"}

--- Why --cpus is refused.
M.one_cpu = "its apps share a table of addresses, which they learn from both ports"

-- A locally administered address where the port has none (capture files).
local function random_mac()
  local bytes = {2}
  for i = 2, 6 do bytes[i] = math.random(0, 255) end
  return addresses.text(string.char(unpack(bytes)))
end

local function mac_of(app)
  local bytes = ffi.new("uint8_t[6]")
  if C.pg_port_mac(app.port, bytes) ~= 0 then return random_mac() end
  local mac = ffi.string(bytes, 6)
  if mac == ("\0"):rep(6) or mac:byte(1) % 2 == 1 then return random_mac() end
  return addresses.text(mac)
end

-- When capture files end, or after the time given.
local function ending(ports, duration)
  local captures = {}
  for _, app in ipairs(ports) do
    if app:reads() then captures[#captures + 1] = app end
  end
  local ends = duration and engine.now() + duration or math.huge
  local function idle()
    for _, app in ipairs(captures) do
      if not app:ended() then return false end
    end
    return termination.links_are_empty(engine)
  end
  return function ()
    return engine.now() >= ends or (#captures > 0 and idle()), ends
  end
end

--- The configuration of a run with these options (program.vtep.arguments) and this MAC
--- address (text); and the tunnel.
function M.graph(options, mac)
  local c = M.ports(options)
  return c, vtep.add(c, "vtep", arguments.tunnel(options, mac), "inner", "outer")
end

--- The configuration of the ports alone.
function M.ports(options)
  local c = config.new()
  config.app(c, "inner", Port, options.inner)
  config.app(c, "outer", Port, options.outer)
  return c
end

-- While it runs ---------------------------------------------------------------------

-- Do what a signal asks for; what is wrong with it is said, with `and_so` behind, and
-- doesn't end the program.
local function attempt(and_so, func, ...)
  local ok, err = pcall(func, ...)
  if not ok then
    log.error("%s%s", tostring(err), and_so)
  end
end

-- Read the configuration file again, and let the tunnel be as it says. If something is
-- wrong with it, the old configuration stays.
local function reload(run)
  local new = arguments.options(run.parsed)
  arguments.check(new, run.parsed)
  arguments.check_change(run.options, new, run.parsed)
  local problem
  file.within(run.parsed.config, function ()
    problem = run.tunnel:update(arguments.tunnel(new, run.mac))
  end)
  run.options = new
  run.say(reports.heading(run.tunnel))
  if problem then
    log.error("%s: %s", run.parsed.config, problem)
  elseif run.memory then
    run.memory:runs()
  end
end

local function on_signal(run)
  return {
    HUP = run.parsed.config and sandbox.unless_entered("SIGHUP", function ()
      attempt("; the configuration stays as it was", reload, run)
    end),
    USR1 = run.parsed.state and function ()
      attempt("", results.save_state, run.parsed.state, run.tunnel)
    end,
  }
end

local function write_results(run)
  local parsed = run.parsed
  if parsed.json then files.save(parsed.json, results.counters(run.tunnel)) end
  if parsed.state then results.save_state(parsed.state, run.tunnel) end
end

-- Run what the command line, whose file is `parsed.config`, says.
local function begin(run, parsed)
  local options = arguments.options(parsed)
  arguments.check(options, parsed)
  local mac = options.mac
  if not mac then
    engine.configure(M.ports(options))
    mac = mac_of(engine.app_table.outer)
  end
  local c, tunnel = M.graph(options, mac)
  engine.configure(c)
  run.options, run.mac, run.tunnel = options, mac, tunnel
end

local REMEMBERED = "vtep.json" -- in the folder of --last-good

-- The same; or, if that can't be, what is remembered, which has the command line's
-- options, too.
local function begin_or_last_good(run)
  local parsed = run.parsed
  run.memory = last_good.new(parsed.last_good, REMEMBERED, function (put)
    put(text.of(run.options))
  end)
  run.memory:let_in()
  run.memory:start(parsed, function (from)
    begin(run, from == parsed and parsed or arguments.only(from))
  end)
end

--- Run the program: `args` as in its usage.
function M.run(args)
  math.randomseed(tonumber(C.pg_tsc() % 2^31))
  local parsed = cli.parse(arguments.parser(), args)
  local run = {parsed = parsed}
  local handlers = on_signal(run)
  signals.take(handlers, true) -- from the start
  if parsed.config then until_turn.watch({parsed.config}, handlers.HUP) end
  if parsed.last_good then begin_or_last_good(run) else begin(run, parsed) end
  offer.let_in(function () return text.of(run.options) end)
  local options, tunnel = run.options, run.tunnel
  local stream = cli.text_stream(parsed.json)
  function run.say(line)
    stream:write(line)
    stream:flush()
  end
  run.say(reports.heading(tunnel))
  if options.report then reports.every(options.report, tunnel, run.say) end
  local apps = engine.app_table
  engine.main{done = ending({apps.inner, apps.outer}, options.duration),
              on_signal = handlers, no_report = parsed.json == "-"}
  write_results(run)
end

return M

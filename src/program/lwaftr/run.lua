-- SPDX-License-Identifier: Apache-2.0
-- `perigee lwaftr run`: the lwAFTRs of a configuration between ports.

local arguments = require("program.lwaftr.arguments")
local cli = require("lib.cli")
local engine = require("core.app")
local failure = require("core.failure")
local leader = require("program.lwaftr.leader.leader")
local ports = require("program.lwaftr.ports")
local rates = require("program.lwaftr.rates")
local reader = require("apps.lwaftr.conf_reader")
local readiness = require("program.lwaftr.readiness")
local Router = require("program.lwaftr.router")
local saving = require("program.lwaftr.saving")

local M = {}

local function parse(args)
  local p = cli.parser("lwaftr run", "Run the lwAFTRs of a configuration: one for each "
    .. "queue of each instance. An instance's device, and its external-device, is a "
    .. "PCI address, a kernel interface, or a port string (`perigee ports`).")
  p:option("-c --conf", "the configuration"):count(1)
  arguments.add(p)
  p:option("--v4", "the port for IPv4, in the place of the instance's external-device")
  p:option("--v6", "the port for IPv6, in the place of its device")
  p:option("--on-a-stick", "one port for both")
  p:flag("--xdp", "use kernel interfaces by AF_XDP, not AF_PACKET")
  p:option("--mirror", "copy packets of the address that `perigee lwaftr monitor` sets "
    .. "to this port: a TAP interface's name, or a port string")
  saving.add(p)
  p:option("--ready-file", "a file that is there only while it is ready for packets")
  p:flag("-v --verbose", "write packet rates, a line a second; twice: report at the "
    .. "end"):count("0-2"):target("verbosity")
  p:option("--verbosity", "the same, as a number: 0 to 2"):target("level")
    :convert(cli.integer(0, 2))
  return cli.parse(p, args)
end

-- The one instance that --v4, --v6 and --on-a-stick are about.
local function only(conf)
  local found
  for device, instance in pairs(conf.softwire_config.instance) do
    if found then
      failure.usage("--v4, --v6 and --on-a-stick need a configuration with one "
        .. "instance; this one has more")
    end
    found = {device, instance}
  end
  if not found then
    failure.usage("--v4, --v6 and --on-a-stick need a configuration with an instance")
  end
  return found[1], found[2]
end

-- Put other ports in the place of the configuration's.
local function move(conf, options)
  local stick = options.on_a_stick
  if stick and (options.v4 or options.v6) then
    failure.usage("--on-a-stick is for both sides; leave out --v4 and --v6")
  end
  local to = stick or options.v6
  if not (to or options.v4) then return end
  local device, instance = only(conf)
  if to and to ~= device then
    print(("Migrating instance '%s' to '%s'"):format(device, to))
    conf.softwire_config.instance = {[to] = instance}
  end
  if stick then
    instance.external_device = nil
  elseif options.v4 then
    instance.external_device = options.v4
  end
end

local function mirror_port(text)
  if text and text:match("^[%w_.-]+$") then return "tap:" .. text end
  return text
end

-- What ports receive and send, by the names that program.lwaftr.ports gives them.
local SIDES = {{"inetNic", "IPv4 "}, {"b4sideNic", "IPv6 "}, {"nic", ""}}

local function columns()
  local list = {}
  for _, side in ipairs(SIDES) do
    local name, label = side[1], side[2]
    for app in pairs(engine.configuration.apps) do
      if app:match("^" .. name .. "@") then
        local from, to = "^" .. name .. "@[%w_]+%.", "-> " .. name .. "@[%w_]+%.input$"
        list[#list + 1] = {name = label .. "RX",
          of = function (spec) return spec:match(from) ~= nil end}
        list[#list + 1] = {name = label .. "TX",
          of = function (spec) return spec:match(to) ~= nil end}
        break
      end
    end
  end
  return list
end

-- What the options say, in the configuration.
local function complete(options, conf)
  arguments.complete(options, conf)
  move(conf, options)
end

-- The router of the configuration in the file, which runs.
local function router_of(options, file)
  local conf = reader.file(file)
  complete(options, conf)
  local wiring = {kind = options.xdp and "xdp" or "packet", cpus = options.cpus,
    mirror = mirror_port(options.mirror)}
  local router = Router.new(conf, function (list, binding)
    wiring.binding = binding
    return ports.graph(list, wiring)
  end)
  router:configure(conf)
  return router
end

--- Run the command.
function M.run(args)
  local options = parse(args)
  local verbosity = options.level or options.verbosity
  local router, saved = saving.start(options, function (file)
    return router_of(options, file)
  end, function (conf) complete(options, conf) end)
  local ready = readiness.of(router, options.ready_file)
  local lead = leader.start(router, ready, saved)
  local lines = verbosity >= 1
    and rates.start(columns, options.bench_file, options.hydra, true)
  engine.main{done = lead:ending(options.duration), no_report = verbosity < 2,
    on_signal = {
      USR1 = function () ready:drain(true) end,
      USR2 = function () ready:drain(false) end,
    }}
  if lines then lines:finish() end
end

return M

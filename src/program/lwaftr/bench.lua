-- SPDX-License-Identifier: Apache-2.0
-- `perigee lwaftr bench`: packets from two files, over and over, through the lwAFTRs of
-- a configuration, to nowhere.

local arguments = require("program.lwaftr.arguments")
local basic = require("apps.basic.basic_apps")
local cli = require("lib.cli")
local config = require("core.config")
local dataplane = require("program.lwaftr.dataplane")
local engine = require("core.app")
local leader = require("program.lwaftr.leader.leader")
local pcap = require("apps.pcap.pcap")
local plot_file = require("lib.picture.plot_file")
local rates = require("program.lwaftr.rates")
local reader = require("apps.lwaftr.conf_reader")
local readiness = require("program.lwaftr.readiness")
local Router = require("program.lwaftr.router")

local M = {}

local function parse(args)
  local p = cli.parser("lwaftr bench", "Send the packets of V4_IN and V6_IN, over and "
    .. "over, through the lwAFTR of each queue of a configuration, and write how many "
    .. "come out, a line a second.")
  p:argument("conf", "the configuration")
  p:argument("v4_in", "a pcap file of packets from the internet")
  p:argument("v6_in", "a pcap file of packets from B4s")
  arguments.add(p)
  plot_file.option(p, "the rates over time")
  return cli.parse(p, args)
end

local SIDES = {v4 = "sinkv4", v6 = "sinkv6"}

local function add_side(c, family, file, queue, cpu)
  local suffix = queue.suffix
  local function app(name, class, arg)
    config.app(c, name .. family .. suffix, class, arg)
    if cpu then config.cpu(c, name .. family .. suffix, cpu) end
    return name .. family .. suffix
  end
  local capture = app("capture", pcap.PcapReader, file)
  local repeater = app("repeater", basic.Repeater)
  local sink = app("sink", basic.Sink)
  config.link(c, ("%s.output -> %s.input"):format(capture, repeater))
  return {repeater .. ".output", sink .. ".input"}
end

--- The graph of the lwAFTRs `list`; `files` has v4_in, v6_in, and cpus (a list or nil).
function M.graph(list, binding, files)
  local c = config.new()
  for i, queue in ipairs(list) do
    local cpus = files.cpus
    local cpu = cpus and cpus[(i - 1) % #cpus + 1]
    dataplane.add(c, queue, {binding = binding, cpu = cpu, untagged = {},
      v4 = add_side(c, "v4", files.v4_in, queue, cpu),
      v6 = add_side(c, "v6", files.v6_in, queue, cpu)})
  end
  return c
end

local function column(name, sink)
  return {name = name, of = function (spec)
    return spec:match("-> " .. sink .. "@[%w_]+%.input$") ~= nil
  end}
end

local function columns()
  return {column("Decap.", SIDES.v4), column("Encap.", SIDES.v6)}
end

--- Run the command.
function M.run(args)
  local options = parse(args)
  local conf = reader.file(options.conf)
  arguments.complete(options, conf)
  local router = Router.new(conf, function (list, binding)
    return M.graph(list, binding, options)
  end)
  router:configure(conf)
  local lead = leader.start(router, readiness.of(router))
  local lines = rates.start(columns, options.bench_file, options.hydra)
  engine.main{done = lead:ending(options.duration), no_report = true}
  lines:finish()
  plot_file.write(options.plot, "lwaftr bench", lines:figures())
end

return M

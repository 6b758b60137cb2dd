-- SPDX-License-Identifier: Apache-2.0
-- `perigee replay`: a savefile's packets to a port, when they are due.

local cli = require("lib.cli")
local engine = require("core.app")
local config = require("core.config")
local link = require("core.link")
local main = require("core.main")
local log = require("core.lib.log")
local commands = require("program.replay.commands")
local options_of = require("program.replay.options").parse
local packet_set = require("lib.pcap.packet_set")
local progress = require("lib.progress")
local run_report = require("lib.observe.run_report")
local summary = require("program.replay.summary")
local Looper = require("apps.pcap.looper").Looper
local Port = require("apps.port.port").Port
local Replayer = require("apps.pcap.replayer").Replayer
local Rewriter = require("apps.rewrite.rewriter").Rewriter
local TwoSides = require("apps.pcap.two_sides").TwoSides

local M = {summary = "send the packets of a pcap or pcapng file to a port"}

--- Why --cpus is refused.
M.one_cpu = "one app sends the file's packets, in their order"

-- A port that takes nothing for so long gets no more time to send what is left.
local STUCK_S = 3

--- The argument of the Replayer app for the parsed command line.
function M.replayer_argument(options)
  local rate = options.rate or {}
  local timed = not options.rate and not options.topspeed
  return {
    filename = options.file,
    packet_rate = rate.packet_rate,
    bit_rate = rate.bit_rate,
    speed = timed and (options.speed or 1) or nil,
    loops = options.loop == 0 and math.huge or options.loop,
    limit = options.count,
  }
end

-- The app that sends the file's packets, and its argument. What is sent more than once,
-- as fast as possible, is kept in memory.
local function source_of(options)
  local arg = M.replayer_argument(options)
  if options.port2 then
    arg.sides, arg.rewrite = options.sides or "syn", options.rewrite
    return TwoSides, arg
  end
  if options.topspeed and (arg.loops or 1) > 1 then
    local kept, why = packet_set.load(options.file)
    if kept then
      return Looper, {kept = kept, loops = arg.loops, limit = arg.limit}
    elseif why then
      log.info("%s: it is read over and over instead", why)
    end
  end
  return Replayer, arg
end

-- A function that tells whether the run has ended: all is sent, or the time is over,
-- or the port has stopped taking packets.
local function ending(source, ports, duration)
  local ends = duration and engine.now() + duration or math.huge
  local waiting, changed
  local function left()
    local n = 0
    for i = 1, #ports do n = n + link.nreadable(ports[i].sink) end
    return n
  end
  return function()
    local now = engine.now()
    if now >= ends then
      return true
    elseif not source.done then
      return false, ends
    end
    local n = left()
    if n ~= waiting then waiting, changed = n, now end
    return waiting == 0 or now - changed > STUCK_S
  end
end

--- Whether nothing sleeps between packets. Else it sleeps until shortly before one is
--- due, and waits busily for the rest.
function M.waits_busily(options)
  return (options.topspeed or options.busy_wait) ~= nil
end

local function run_engine(source, ports, options)
  local line = progress.start{
    label = "replay", limit = options.count, duration = options.duration,
    sample = function() return {packets = source.packets, bits = source.bits} end,
  }
  engine.busywait = M.waits_busily(options)
  local ok, err = pcall(engine.main, {done = ending(source, ports, options.duration),
                                      no_report = true})
  line:finish("quiet")
  return ok, err
end

-- The graph, the names of its port apps, and the source's argument.
local function graph(options)
  local c = config.new()
  local class, argument = source_of(options)
  config.app(c, "source", class, argument)
  config.app(c, "port", Port, options.port)
  if options.port2 then
    config.app(c, "port2", Port, options.port2)
    config.link(c, "source.client -> port.input")
    config.link(c, "source.server -> port2.input")
    return c, {"port", "port2"}, argument
  elseif options.rewrite then
    config.app(c, "rewrite", Rewriter, options.rewrite)
    config.link(c, "source.output -> rewrite.input")
    config.link(c, "rewrite.output -> port.input")
  else
    config.link(c, "source.output -> port.input")
  end
  return c, {"port"}, argument
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local options = options_of(args)
  local c, names, argument = graph(options)
  engine.configure(c)
  local source, ports = engine.app_table.source, {}
  for i, name in ipairs(names) do ports[i] = engine.app_table[name] end
  commands.let_in(source, argument)
  local ok, err = run_engine(source, ports, options)
  local figures = summary.figures(source, ports, engine.now(), options)
  local stream = cli.text_stream(options.json)
  stream:write(summary.text(options, figures))
  run_report.save(options.json, {replay = figures})
  if not ok then
    error(err, 0)
  elseif source.failure then
    main.exit(1) -- the source has said why not all of the file was sent
  end
end

return M

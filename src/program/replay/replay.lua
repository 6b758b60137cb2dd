-- SPDX-License-Identifier: Apache-2.0
-- `perigee replay`: a savefile's packets to a port, when they are due.

local engine = require("core.app")
local config = require("core.config")
local failure = require("core.failure")
local link = require("core.link")
local log = require("core.lib.log")
local cli = require("lib.cli")
local packet_set = require("lib.pcap.packet_set")
local progress = require("lib.progress")
local rates = require("lib.traffic.rate")
local run_report = require("lib.observe.run_report")
local summary = require("program.replay.summary")
local Looper = require("apps.pcap.looper").Looper
local Port = require("apps.port.port").Port
local Replayer = require("apps.pcap.replayer").Replayer

local M = {summary = "send the packets of a pcap or pcapng file to a port"}

--- Why --cpus is refused.
M.one_cpu = "one app sends the file's packets, in their order"

-- A port that takes nothing for so long gets no more time to send what is left.
local STUCK_S = 3

--- Converter of a rate: 1.5Mpps, 100kpps (packets a second), 10Gbps (bits a second
--- on the wire). Returns {packet_rate = 1.5e6} or {bit_rate = 1e10}.
function M.rate(text)
  local rate, problem = rates.parse(text)
  if not rate then return nil, problem end
  return {packet_rate = rate.packets, bit_rate = rate.bits}
end

local function parser()
  local p = cli.parser("replay",
    "Send the packets of a pcap or pcapng file to a port: at the speed they were"
    .. " recorded at, at a rate, or as fast as possible.")
  p:argument("file", "A pcap or pcapng file, plain or compressed (gzip, zstd).")
  p:argument("port", "A port, such as packet:veth0; `perigee ports` lists them.")
  p:mutex(
    p:option("--rate", "Send at this rate: 1.5Mpps, 100kpps, or 10Gbps (bits on the"
             .. " wire: with preamble, gap and frame check).")
      :argname("RATE"):convert(M.rate),
    p:option("--speed", "Send this many times as fast as recorded (default 1).")
      :argname("FACTOR"):convert(cli.positive_number),
    p:flag("--topspeed", "Send as fast as the port takes them."))
  p:flag("--busy-wait", "Use a CPU fully, so that packets go when they are due (at"
         .. " recorded speed; at rates it is so anyway).")
  p:option("--loop", "Go through the file N times; 0: until stopped (default 1).")
    :argname("N"):convert(cli.count)
  cli.count_option(p, "Send at most N packets.", "--limit")
  cli.duration_option(p)
  run_report.option(p)
  return p
end

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
local function ending(source, duration)
  local started, waiting, changed = engine.now(), nil, nil
  local output = source.output.output
  return function()
    local now = engine.now()
    if duration and now - started >= duration then
      return true
    elseif not source.done then
      return false
    end
    if link.nreadable(output) ~= waiting then
      waiting, changed = link.nreadable(output), now
    end
    return waiting == 0 or now - changed > STUCK_S
  end
end

--- Whether nothing sleeps between packets. At recorded speed that is for who asks: a
--- sleeping engine is 0.1 ms late.
function M.waits_busily(options)
  return (options.rate or options.topspeed or options.busy_wait) ~= nil
end

local function run_engine(source, options)
  local line = progress.start{
    label = "replay", limit = options.count, duration = options.duration,
    sample = function() return {packets = source.packets, bits = source.bits} end,
  }
  engine.busywait = M.waits_busily(options)
  local ok, err = pcall(engine.main, {done = ending(source, options.duration),
                                      no_report = true})
  line:finish("quiet")
  return ok, err
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local options = cli.parse(parser(), args)
  local c = config.new()
  config.app(c, "source", source_of(options))
  config.app(c, "port", Port, options.port)
  config.link(c, "source.output -> port.input")
  engine.configure(c)
  local source = engine.app_table.source
  local ok, err = run_engine(source, options)
  local figures = summary.figures(source, engine.app_table.port, engine.now())
  local stream = options.json == "-" and io.stderr or io.stdout
  stream:write(summary.text(options, figures))
  run_report.save(options.json, {replay = figures})
  if not ok then
    error(err, 0)
  elseif source.failure then
    failure.raise("not all of %s was sent: %s", options.file, source.failure)
  end
end

return M

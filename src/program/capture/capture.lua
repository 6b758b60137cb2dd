-- SPDX-License-Identifier: Apache-2.0
-- `perigee capture`: what a port receives, to a savefile. Whatever ends it (a limit,
-- a signal, a full disk), the file has whole packets and the counts are right.

local engine = require("core.app")
local failure = require("core.failure")
local config = require("core.config")
local core_lib = require("core.lib")
local counter = require("core.counter")
local link = require("core.link")
local cli = require("lib.cli")
local filter = require("lib.filter")
local format = require("lib.pcap.format")
local progress = require("lib.progress")
local run_report = require("lib.observe.run_report")
local running = require("program.capture.running")
local Port = require("apps.port.port").Port
local PcapFilter = require("apps.packet_filter.pcap_filter").PcapFilter
local PcapWriter = require("apps.pcap.pcap").PcapWriter

local M = {summary = "write the packets of a port, or of a running graph, to a file"}

--- Why --cpus is refused.
M.one_cpu = "one app writes the file, in the order in which packets came"

local function parser()
  local p = cli.parser("capture",
    "Write the packets that a port receives to a pcap or pcapng file, until stopped"
    .. " (Ctrl-C). Or those that pass a link of a running graph, come to one of its "
    .. "apps, or are dropped there: by @INSTANCE:LINK, @INSTANCE:APP, "
    .. "@INSTANCE:dropped.")
  p:argument("port", "A port, such as packet:veth0; `perigee ports` lists them. Or "
    .. "@INSTANCE:WHAT; `perigee ps` lists instances.")
  p:argument("file", "The file to write; one that exists is replaced. Of a running "
    .. "graph also - for stdout.")
  cli.count_option(p, "Stop after N packets.", "--limit")
  p:option("--snaplen", "Keep at most this many bytes of a packet.")
    :argname("BYTES"):convert(cli.integer(1, format.MAX_CAPTURED))
  cli.duration_option(p)
  p:option("-f --filter", "Only packets that this expression accepts "
    .. "(pcap-filter(7))."):argname("EXPR")
  p:option("--rate", "With @INSTANCE: at most so many packets a second and CPU.")
    :argname("N"):convert(cli.count)
  p:flag("--pcapng", "Write pcapng rather than pcap.")
  run_report.option(p)
  p:flag("--ns", "Write times in nanoseconds rather than microseconds.")
  return p
end

--- The argument of the PcapWriter app for the parsed command line.
function M.writer_argument(options)
  return {
    filename = options.file,
    format = options.pcapng and "pcapng" or "pcap",
    resolution = options.ns and "ns" or "us",
    snaplen = options.snaplen,
    limit = options.count,
  }
end

-- A function that tells whether the run has ended.
local function ending(writer, duration)
  local ends = duration and engine.now() + duration or math.huge
  return function () return writer.room <= 0 or engine.now() >= ends, ends end
end

local function run_engine(writer, options)
  local line = progress.start{
    label = "capture", limit = options.count, duration = options.duration,
    sample = function() return {packets = (writer.file:written())} end,
  }
  local ok, err = pcall(engine.main, {done = ending(writer, options.duration),
                                      no_report = true})
  line:finish("quiet")
  return ok, err
end

-- Names and counts of all that was received and isn't in the file.
local function losses(writer, port, chosen)
  local _, lost = writer.file:written()
  local stats = port:statistics()
  return {
    {"that the filter doesn't accept",
     chosen and tonumber(counter.read(chosen.shm.rxerrors)) or 0},
    {"that the file couldn't take", lost},
    {"after the last one to write", writer.over_limit},
    {"not yet written", link.nreadable(writer.input.input)},
    {"longer than 10,240 bytes", stats.rx_oversize},
    {"with no packet free", stats.rx_nomem + stats.rx_nombuf},
    {"left to be segmented in a way not known", stats.rx_bad_offload},
    {"missed by the port", stats.imissed},
    {"received in error", stats.ierrors},
  }
end

--- The report of a run, from the apps `writer` (PcapWriter), `port` (Port) and, where
--- there is one, `chosen` (PcapFilter).
function M.report(writer, port, chosen)
  local function commas(n) return core_lib.comma_value(("%.0f"):format(n)) end
  local lines = {
    ("capture: %s packets received, %s written to %s"):format(
      commas(tonumber(port.port.rxpackets)), commas((writer.file:written())),
      writer.file.path),
  }
  for _, loss in ipairs(losses(writer, port, chosen)) do
    if loss[2] > 0 then
      lines[#lines + 1] = ("not written: %s %s"):format(commas(loss[2]), loss[1])
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

-- The port's packets through the filter, if there is one, to the file.
local function graph(options)
  local c, from = config.new(), "port"
  config.app(c, "port", Port, {port = options.port, receive_only = true})
  if options.filter then
    config.app(c, "filter", PcapFilter, {filter = options.filter})
    config.link(c, "port.output -> filter.input")
    from = "filter"
  end
  config.app(c, "writer", PcapWriter, M.writer_argument(options))
  config.link(c, from .. ".output -> writer.input")
  return c
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local options = cli.parse(parser(), args)
  local instance, what = running.parse(options.port)
  if instance and options.json then
    failure.usage("--json is for ports, not for @INSTANCE:WHAT")
  end
  if instance then return running.run(instance, what, options) end
  if options.rate then
    failure.usage("--rate is for @INSTANCE:WHAT, not for the port '%s'", options.port)
  end
  if options.filter then filter.new(options.filter) end -- before a file is replaced
  engine.configure(graph(options))
  local writer = engine.app_table.writer
  local ok, err = run_engine(writer, options)
  local stream = cli.text_stream(options.json)
  stream:write(M.report(writer, engine.app_table.port, engine.app_table.filter))
  run_report.save(options.json, {written = (writer.file:written())})
  if not ok then
    error(err, 0)
  end
end

return M

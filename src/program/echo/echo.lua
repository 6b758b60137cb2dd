-- SPDX-License-Identifier: Apache-2.0
-- `perigee echo PORT [CHAIN-LENGTH] [DURATION]`: sends every packet back to the
-- port it came from, through a chain of Fwd apps.

local cli = require("lib.cli")
local config = require("core.config")
local engine = require("core.app")
local fwd = require("apps.fwd.fwd")
local kinds = require("lib.port.kinds")
local port = require("apps.port.port")
local run_report = require("lib.observe.run_report")
local spec = require("lib.port.spec")

local M = {summary = "send packets back to their port through a chain of apps"}

local MAX_CHAIN = 10000

--- The configuration: app "port" and a chain of `length` Fwd apps in a circle.
function M.graph(port_string, length)
  local c = config.new()
  config.app(c, "port", port.Port, port_string)
  local from = "port"
  for i = 1, length do
    config.app(c, "fwd" .. i, fwd.Fwd)
    config.link(c, ("%s.output -> fwd%d.input"):format(from, i))
    from = "fwd" .. i
  end
  config.link(c, ("%s.output -> port.input"):format(from))
  return c
end

--- Each CPU may have a copy of the whole graph (perigee echo --cpus).
M.replicable = function (c) return config.sorted_keys(c.apps) end

--- Run with the command line's arguments (a list of strings).
function M.run(args)
  local parser = cli.parser("echo", "Send every packet back to the port it came "
    .. "from, through a chain of Fwd apps. End after DURATION, at the end of a "
    .. "pcap file, or on Ctrl-C, and report where every packet went.")
  parser:argument("port", "a port string; `perigee ports` lists ports")
  parser:argument("chain_length", "apps in the chain (default 1)"):args("?")
    :convert(cli.integer(0, MAX_CHAIN))
  parser:argument("duration", "seconds, or 500ms, 2m, 1h"):args("?")
    :convert(cli.duration)
  parser:option("--duration", "The same."):argname("TIME"):target("time")
    :convert(cli.duration)
  run_report.option(parser)
  local options = cli.parse(parser, args)
  local duration = options.time or options.duration
  engine.configure(M.graph(options.port, options.chain_length or 1))
  local kind = kinds.of(spec.parse(options.port))
  engine.busywait = kind.always_ready == true
  local ends = duration and engine.now() + duration or math.huge
  local run = {duration = duration, no_report = options.json == "-"}
  if kind.ends then
    run.duration = nil
    run.done = function () return engine.now() >= ends or engine.finished(), ends end
    run.in_rows = true
  end
  engine.main(run)
  run_report.save(options.json)
end

return M

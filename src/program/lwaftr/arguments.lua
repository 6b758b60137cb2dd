-- SPDX-License-Identifier: Apache-2.0
-- What the command lines of `run` and `bench` have in common.

local affinity = require("core.cpus.affinity")
local cli = require("lib.cli")
local placement = require("core.cpus.placement")

local arguments = {}

local function cpus(text)
  local ok, list = pcall(affinity.list, text)
  if ok then return list end
  return nil, tostring(list):gsub("^%-%-cpus ", "")
end

--- Add the options to the parser `p`.
function arguments.add(p)
  p:option("-n --name", "what `perigee ps` and `config` are to call it")
  p:option("--cpu --cpus", "CPUs for the queues, such as 2-5 or 2,4; without, all run "
    .. "in the main thread"):target("cpus"):convert(cpus)
  p:option("-D --duration", "end after this time: seconds, or 500ms, 2m, 1h")
    :convert(cli.duration)
  p:option("-b --bench-file", "write rates to this file, not to stdout")
  p:flag("-y --hydra", "write them in the form of Snabb's benchmarks")
end

--- Complete what was parsed: --cpus may also be in front of the program.
function arguments.complete(options, conf)
  options.cpus = options.cpus or placement.wanted()
  placement.use(nil) -- they are for queues
  if options.name then conf.softwire_config.name = options.name end
end

return arguments

-- SPDX-License-Identifier: Apache-2.0
-- `perigee metrics`: what all instances of this machine count, for monitoring.

local C = require("core.native")
local cli = require("lib.cli")
local helper = require("lib.control.metrics_helper")
local instances = require("lib.observe.instances")
local listen = require("lib.control.listen")
local metrics = require("lib.observe.metrics")
local notify = require("lib.service.notify")
local objects = require("lib.observe.objects")
local process = require("lib.observe.process")
local scrapes = require("lib.control.scrapes")

local M = {summary = "print or serve the metrics of all instances (OpenMetrics)"}

--- Why --cpus is refused.
M.one_cpu = "it runs no graph"

--- Why --sandbox is refused.
M.no_sandbox = "it handles no packets"

local function parser()
  local p = cli.parser("metrics", "Print what all running instances of Perigee and "
    .. "Snabb count, in the format of OpenMetrics; or serve it to Prometheus.")
  p:argument("instance", "Only this one: process id, name or program."):args("?")
  p:option("--listen", "Serve /metrics there until stopped: a TCP port, ADDRESS:PORT "
    .. "or unix:PATH."):argname("PLACE")
  p:flag("--plain", "Print Prometheus's older text format, as its node_exporter reads "
    .. "from files.")
  p:option("--serve-for"):hidden(true) -- lib.control.metrics
  p:option("--parent"):convert(tonumber):hidden(true)
  p:option("--at"):hidden(true)
  return p
end

-- What lib.observe.metrics takes, of the instances of the list (lib.observe.instances);
-- in steps: it yields.
local function known(list, in_steps)
  local found = {}
  for _, instance in ipairs(list) do
    local cpu, uptime = process.times(instance.pid)
    if cpu then
      found[#found + 1] = {program = instance.program, name = instance.name,
        pid = instance.pid, cpu = cpu, uptime = uptime,
        objects = objects.all(instance.directory, in_steps and coroutine.yield),
        keeps = instance.keeps, replication = instance.replication,
        labels = {"process", instance.name or instance.pid}}
    end
  end
  return found
end

local function chosen(name)
  local list = instances.list()
  return name and {instances.find(list, name)} or list
end

local function serve(place, name)
  local fd, path = listen.open("--listen", place)
  C.pg_catch_signals()
  notify.tell("READY=1")
  scrapes.serve(fd, {
    collect = function () return known(chosen(name), true) end,
    pages = {["/healthz"] = function () return 200, "ok\n" end}, others = "/healthz",
    refuse = listen.foreign(listen.parse("--listen", place)),
    stop = function () return C.pg_signal() ~= 0 end})
  C.pg_release_signals()
  if path then os.remove(path) end
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local options = cli.parse(parser(), args)
  if options.serve_for then
    return helper.run(options.serve_for, options.parent, options.at)
  end
  local list = chosen(options.instance)
  if options.listen then return serve(options.listen, options.instance) end
  io.write(metrics.text(known(list), options.plain))
end

return M

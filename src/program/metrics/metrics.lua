-- SPDX-License-Identifier: Apache-2.0
-- `perigee metrics`: what all instances of this machine count, for monitoring.

local C = require("core.native")
local cli = require("lib.cli")
local http = require("lib.control.http")
local instances = require("lib.observe.instances")
local listen = require("lib.control.listen")
local metrics = require("lib.observe.metrics")
local notify = require("lib.service.notify")
local objects = require("lib.observe.objects")
local process = require("lib.observe.process")
local sockets = require("lib.sockets")

local M = {summary = "print or serve the metrics of all instances (OpenMetrics)"}

local LOOK_SECONDS = 0.02

--- Why --cpus is refused.
M.one_cpu = "it runs no graph"

local function parser()
  local p = cli.parser("metrics", "Print what all running instances of Perigee and "
    .. "Snabb count, in the format of OpenMetrics; or serve it to Prometheus.")
  p:argument("instance", "Only this one: process id, name or program."):args("?")
  p:option("--listen", "Serve /metrics there until stopped: a TCP port, ADDRESS:PORT "
    .. "or unix:PATH."):argname("PLACE")
  p:flag("--plain", "Print Prometheus's older text format, as its node_exporter reads "
    .. "from files.")
  return p
end

--- The text for the instances of the list (lib.observe.instances).
function M.text(list, plain)
  local known = {}
  for _, instance in ipairs(list) do
    local cpu, uptime = process.times(instance.pid)
    if cpu then
      known[#known + 1] = {program = instance.program, name = instance.name,
        pid = instance.pid, cpu = cpu, uptime = uptime,
        objects = objects.all(instance.directory),
        labels = {"process", instance.name or instance.pid}}
    end
  end
  return metrics.text(known, plain)
end

local function chosen(name)
  local list = instances.list()
  return name and {instances.find(list, name)} or list
end

local function serve(place, name)
  local fd, path = listen.open("--listen", place)
  local server = sockets.server(fd, function ()
    return http.session(function (request)
      if request.path == "/healthz" then return 200, "ok\n" end
      if request.path ~= "/metrics" then
        return 404, "there are /metrics and /healthz\n"
      end
      local openmetrics = metrics.is_asked_for(request)
      return 200, M.text(chosen(name), not openmetrics),
        openmetrics and metrics.TYPE or metrics.PLAIN_TYPE
    end)
  end)
  C.pg_catch_signals()
  notify.tell("READY=1")
  while C.pg_signal() == 0 do
    if not server:poll() then
      server:work()
      C.pg_sleep(LOOK_SECONDS)
    end
  end
  C.pg_release_signals()
  server:close()
  if path then os.remove(path) end
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local options = cli.parse(parser(), args)
  local list = chosen(options.instance)
  if options.listen then return serve(options.listen, options.instance) end
  io.write(M.text(list, options.plain))
end

return M

-- SPDX-License-Identifier: Apache-2.0
-- The option --metrics: this process's own metrics, and whether it is well, by HTTP,
-- while its engine runs.

local C = require("core.native")
local engine = require("core.app")
local http = require("lib.control.http")
local listen = require("lib.control.listen")
local metrics = require("lib.observe.metrics")
local objects = require("lib.observe.objects")
local outside = require("core.outside.visitors")
local process = require("lib.observe.process")
local shm = require("core.shm")
local sockets = require("lib.sockets")
local state = require("lib.service.state")
local unistd = require("posix.unistd")

local server = {}

local FILES_AT_ONCE = 20 -- read between two breaths: some tenths of a millisecond

-- As objects.all, with pauses, but not between what an app or a link has: its numbers
-- belong together.
local function read_objects(directory)
  local found, n, folder = {}, 0, nil
  objects.each(directory, function (name, path)
    local of = name:match("^(.*)/")
    if n >= FILES_AT_ONCE and of ~= folder then
      coroutine.yield()
      n = 0
    end
    local value, kind = objects.read(path)
    if value ~= nil then
      found[name:match("^(.*)%.")] = {value = value, kind = kind}
    end
    n, folder = n + 1, of
  end)
  return found
end

local function own_metrics(plain)
  local pid = unistd.getpid()
  local cpu, uptime = process.times(pid)
  local directory = shm.path("engine"):match("^(.*)/")
  return metrics.text({{program = process.program(pid, directory), pid = pid, cpu = cpu,
    name = engine.program_name or nil, uptime = uptime,
    objects = read_objects(directory),
    pool = {size = C.pg_pool_size(), available = C.pg_pool_available()}}}, plain)
end

local PAGES = {}

PAGES["/metrics"] = function (openmetrics)
  if openmetrics then return 200, own_metrics(false), metrics.TYPE end
  return 200, own_metrics(true), metrics.PLAIN_TYPE
end

PAGES["/healthz"] = function () return 200, "ok\n" end

PAGES["/readyz"] = function ()
  local why = state.not_ready()
  if why then return 503, why .. "\n" end
  return 200, "ok\n"
end

local function page(request)
  local make = PAGES[request.path]
  if not make then return 404, "there are /metrics, /healthz and /readyz\n" end
  return make(metrics.is_asked_for(request))
end

--- Serve at `text` ([ADDRESS:]PORT or unix:PATH). Raises a failure if that can't be.
function server.start(text)
  local fd, path = listen.open("--metrics", text)
  local listening = sockets.server(fd, function () return http.session(page) end)
  local visitor = {}
  function visitor.tend()
    listening:poll()
    if listening:busy() then listening:work() end
  end
  function visitor.leave()
    listening:close()
    if path then os.remove(path) end
  end
  jit.off(visitor.tend, true)
  outside.let_in(visitor)
end

return server

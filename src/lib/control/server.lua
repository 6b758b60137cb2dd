-- SPDX-License-Identifier: Apache-2.0
-- The control socket of this process: by it others look into the running engine
-- (doc/control.md). It belongs to the main thread, and is looked at between breaths, a
-- hundred times a second; nothing is done for packets while nobody has asked.

local engine = require("core.app")
local log = require("core.lib.log")
local main = require("core.main")
local outside = require("core.outside.visitors")
local observed = require("lib.observe.graph")
local session = require("lib.control.session")
local shm = require("core.shm")
local sockets = require("lib.sockets")

local server = {}

--- Where the socket is in an instance's directory.
server.NAME = "control.socket"

--- What can be asked for, by name (lib.control.session).
server.commands = {}
local commands = server.commands

local listening -- lib.sockets' server
local tried = false

local function serve()
  return session.new(commands)
end

local BUSY_SECONDS = 0.01 -- who is connected is looked at as often

local visitor = {}

--- The engine's main loop begins: from now on the socket is there.
function visitor.begin()
  if tried then return end
  tried = true
  shm.mkdir(shm.resolve("engine"))
  local fd, problem = sockets.listen_unix(shm.path(server.NAME))
  if not fd then
    log.warning("no control socket, so `trace` and the like can't be used: %s", problem)
    return
  end
  listening = sockets.server(fd, serve)
end

--- Serve whoever has something to say.
function visitor.tend(now)
  if not listening then return end
  listening:poll()
  visitor.patience = listening:busy() and BUSY_SECONDS or math.huge
  if not listening:busy() then return end
  for _, client in pairs(listening.connections) do
    client:tend(now)
  end
  listening:work()
end

--- Who connects wakes the engine.
function visitor.descriptor() return listening and listening.fd end

--- The process ends: what is attached says so.
function visitor.leave()
  if not listening then return end
  for _, client in pairs(listening.connections) do client:stop() end
  listening:close()
  listening = nil
end

-- The control socket isn't part of the packet path: LuaJIT needn't try to compile it.
for _, f in pairs(visitor) do jit.off(f, true) end

--- Let this process have a control socket once its engine runs.
function server.start() outside.let_in(visitor) end

-- What it can be asked --------------------------------------------------------------

local function configuration()
  local apps, links = {}, {}
  local c = engine.configuration
  for name in pairs(c.apps) do
    apps[#apps + 1] = {name = name, cpu = c.cpus and c.cpus[name] or nil}
  end
  for spec in pairs(c.links) do links[#links + 1] = spec end
  table.sort(apps, function (a, b) return a.name < b.name end)
  table.sort(links)
  return apps, links
end

-- LuaJIT's empty table would be an object in JSON.
local function list(t) return #t > 0 and t or nil end

commands.info = {
  arguments = {},
  run = function ()
    local apps, links = configuration()
    return {version = main.release, program = main.program_name,
            name = engine.program_name or nil, apps = list(apps), links = list(links)}
  end,
}

commands.graph = {
  arguments = {},
  run = function ()
    local graph = observed.describe()
    return {apps = list(graph.apps), links = list(graph.links),
            regions = list(graph.regions)}
  end,
}

-- (Read in when it is asked for first: an idle process has no use for it.)
commands.counters = {
  arguments = {},
  run = function () return require("lib.observe.counted").all() end,
}

commands.stop = {
  arguments = {},
  run = function (client) return {stopped = client:stop()} end,
}

local trace = require("lib.control.trace")
local capture = require("lib.control.capture")
commands.capture = {arguments = capture.arguments, run = capture.run}
commands.trace = {arguments = trace.arguments, run = trace.run}

return server

-- SPDX-License-Identifier: Apache-2.0
-- libmoon's module `webserver`: a task that answers /devices/{N,all,num} and
-- /counters/{N,all,num} as JSON, and what handlers of the script answer. It listens on
-- this host alone unless another address is configured.

local device = require("device")
local libmoon = require("moongen.tasks.libmoon")
local namespaces = require("namespaces")
local numbers = require("moongen.tasks.numbers")
local pipe = require("pipe")
local clock = require("moongen.clock")
local cjson = require("cjson")
local listening = require("lib.control.listen")
local log = require("moongen.log")
local session = require("net.http.session")
local sockets = require("lib.sockets")
local turbo = require("moongen.tasks.turbo")

local M = {}

local PORT, ADDRESS = 8888, "127.0.0.1"
local LOOK_MS = 10 -- between looks for requests
local JSON = "application/json; charset=UTF-8"
local MOST_UPDATES = 3600 -- of a counter that are kept

-- What all tasks know: whether there is a server, and the pipe to it.
local share = namespaces.get("moongen.tasks.webserver")

--- Start the server: `options.port` (8888), `bind`, and `init`, the name of a function
--- that is called in its task with turbo and all other arguments, and returns handlers,
--- {pattern, class} each.
function M.startWebserverTask(options, ...)
  if not share.updates then share.updates = pipe:newSlowPipe() end
  numbers.next("web servers")
  return libmoon.startSharedTask("__LM_WEBSERVER_TASK", options or {}, ...)
end

--- Is there a server?
function M.running() return numbers.last("web servers") > 0 end

local updates -- the pipe, once there is one

--- Tell the server of a counter's update.
function M.publish(counter, interval)
  updates = updates or share.updates
  updates:send{id = counter.id, name = counter.name, dir = counter.dir,
    dev = counter.dev and counter.dev.id, packets = interval.packets,
    bytes = interval.bytes, mpps = interval.mpps, mbit = interval.mbit,
    wireMbit = interval.wireMbit, time = clock.unix()}
end

-- /devices

local function device_info(id)
  local dev = device.get(id)
  local link = dev:getLinkStatus()
  return {id = id, name = dev:getName(), driver = dev:getDriverName(),
    mac = dev:getMacString(), configured = dev.initialized or false,
    numaSocket = dev:getSocket(), linkUp = link.status, linkSpeed = link.speed}
end

-- A class that answers "all", "num" and numbers from `first` on.
local function of_many(name, first, count, info)
  local Class = turbo.class(name, turbo.web.RequestHandler)
  function Class:get(which)
    local id, n = tonumber(which), count()
    if which == "all" then
      local list = setmetatable({}, cjson.array_mt)
      for i = first, first + n - 1 do list[#list + 1] = info(i) end
      return self:write(list)
    elseif which == "num" then
      return self:write{num = n}
    elseif not id or id % 1 ~= 0 or id < first or id >= first + n then
      local message = ("there are only %d %s"):format(n, name)
      error(turbo.web.HTTPError(400, {message = message}))
    end
    self:write(info(id))
  end
  return Class
end

-- /counters

local function updates_by_counter(from)
  local known = {}
  local function take()
    for data in function () return from:tryRecv(0) end do
      local id = data.id
      known[id] = known[id]
        or {id = id, name = data.name, direction = data.dir, data = {}}
      data.id, data.name, data.dir = nil, nil, nil
      local list = known[id].data
      list[#list + 1] = data
      if #list > MOST_UPDATES then table.remove(list, 1) end
    end
  end
  return known, take
end

local function own_handlers(options, ...)
  if not options.init then return {} end
  local list = _G[options.init](turbo, ...)
  for _, entry in ipairs(list or {}) do
    if type(entry) ~= "table" then
      log:fatal("%s must return a list of handlers, {{pattern, class}, ...}",
        options.init)
    end
  end
  return list or {}
end

-- A server at options.bind and options.port, for these handlers.
local function listen(options, handlers)
  local address, port = options.bind or ADDRESS, tonumber(options.port) or PORT
  local fd, bound = sockets.listen_tcp(address, port)
  if not fd then
    log:fatal("can't serve statistics at %s:%d: %s", address, port, bound)
  end
  log:info("Starting REST API on port %d", bound)
  local refusal = listening.foreign{address = address}
  local function page(request)
    local refused = refusal(request)
    if refused then return 403, cjson.encode{message = refused}, JSON end
    local status, body = turbo.answer(handlers, request)
    return status, body, JSON
  end
  return sockets.server(fd, function ()
    return session.new(page, {any_method = true})
  end)
end

--- The task: answers until the script ends.
function M.task(options, ...)
  local stats = require("stats")
  local known, take = updates_by_counter(share.updates)
  local handlers = {
    {"^/devices/([^/]+)/?$", of_many("devices", 0, device.numDevices, device_info)},
    {"^/counters/([^/]+)/?$", of_many("counters", 1, stats.numCounters,
      function (id) return known[id] or {id = id} end)},
  }
  for _, entry in ipairs(own_handlers(options, ...)) do
    table.insert(handlers, entry)
  end
  local server = listen(options, handlers)
  while libmoon.running() do
    take()
    if not server:poll() then
      server:work()
      libmoon.sleepMillisIdle(LOOK_MS)
    end
  end
  server:close()
end

return M

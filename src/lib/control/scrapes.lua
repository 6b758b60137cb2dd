-- SPDX-License-Identifier: Apache-2.0
-- Serves metrics by HTTP from what processes have in shared memory, as a process of its
-- own, and costs little whatever is asked: what is served is collected at most once a
-- second, in small steps, and all of it takes a hundredth of a CPU.

local C = require("core.native")
local session = require("net.http.session")
local metrics = require("lib.observe.metrics")
local sockets = require("lib.sockets")

local scrapes = {}

local LEAST_SECONDS = 1    -- between two collections
local COLLECTION_SHARE = 0.005 -- of a CPU
local SHARE = 0.01         -- of a CPU, for all
local SAVED_SECONDS = 0.05 -- of CPU time, at most, that quiet times save for busy ones
local STEP_SECONDS = 0.01  -- a collection's steps are that far apart at least
local PATIENCE_SECONDS = 1 -- of a wait for clients, after which stop() is asked

-- CPU time may be used in proportion to the time that passes -----------------------

local Budget = {}
Budget.__index = Budget

--- A budget whose clocks, in seconds, are cpu() and now().
function scrapes.budget(cpu, now)
  return setmetatable({cpu = cpu, now = now, used = cpu(), at = now(),
    left = SAVED_SECONDS}, Budget)
end

-- For how long nothing may be done (seconds, at least 0).
function Budget:pause()
  local used, at = self.cpu(), self.now()
  self.left = math.min(SAVED_SECONDS,
    self.left + (at - self.at) * SHARE - (used - self.used))
  self.used, self.at = used, at
  return math.max(0, -self.left / SHARE)
end

-- Collections -----------------------------------------------------------------------

local Source = {}
Source.__index = Source

--- The texts of what collect() returns: a list for lib.observe.metrics. collect() may
--- yield. cpu() and now() are the clocks.
function scrapes.source(collect, cpu, now)
  return setmetatable({collect = collect, cpu = cpu, now = now, due = 0}, Source)
end

-- The text in that form; nil as long as it isn't there.
function Source:text(plain)
  if not self.list or not self.wanted and self.now() >= self.due then
    self.wanted = true
  end
  if self.wanted then return nil end
  local form = plain and "plain" or "open"
  self.texts[form] = self.texts[form] or metrics.text(self.list, plain)
  return self.texts[form]
end

-- A step of the collection that is wanted, if one is. True if there is more to do.
function Source:work()
  if not self.wanted then return false end
  local used = self.cpu()
  if not self.thread then self.thread, self.cost = coroutine.create(self.collect), 0 end
  local ok, list = coroutine.resume(self.thread)
  self.cost = self.cost + self.cpu() - used
  if ok and coroutine.status(self.thread) == "suspended" then return true end
  self.thread, self.wanted = nil, false
  if not ok then error(list, 0) end
  self.list, self.texts = list, {}
  self.due = self.now() + math.max(LEAST_SECONDS, self.cost / COLLECTION_SHARE)
  return false
end

-- Serving -----------------------------------------------------------------------------

local function pages_of(source, options)
  return function (request)
    local refused = options.refuse and options.refuse(request)
    if refused then return 403, refused .. "\n" end
    local page = options.pages[request.path]
    if page then return page() end
    if request.path ~= "/metrics" then
      return 404, ("there are /metrics and %s\n"):format(options.others)
    end
    local open = metrics.is_asked_for(request)
    local text = source:text(not open)
    while not text do
      coroutine.yield()
      text = source:text(not open)
    end
    return 200, text, open and metrics.TYPE or metrics.PLAIN_TYPE
  end
end

--- Serve on the listening socket `fd` until stop() is true. `options`: collect, as
--- lib.observe.metrics.text takes it, may yield; pages = function by path, returns
--- status and body; others = their names, for who asks for something else; stop;
--- refuse(request), optional: a sentence, if it is refused.
function scrapes.serve(fd, options)
  local source = scrapes.source(options.collect, C.pg_cpu_seconds, C.pg_monotonic)
  local page = pages_of(source, options)
  local server = sockets.server(fd, function () return session.new(page) end)
  local budget = scrapes.budget(C.pg_cpu_seconds, C.pg_monotonic)
  local more = false
  while not options.stop() do
    server:wait(more and STEP_SECONDS or PATIENCE_SECONDS)
    server:poll() -- health before the next step
    more = source:work()
    server:work()
    local pause = budget:pause()
    if pause > 0 then C.pg_sleep(math.min(pause, PATIENCE_SECONDS)) end
  end
  server:close()
end

return scrapes

-- SPDX-License-Identifier: Apache-2.0
-- Running a router: turns of its tasks and timers between the engine's breaths, until
-- it is stopped; and taking over from another one.

local C = require("core.native")
local cpu_time = require("click.router.cpu_time")
local direct = require("click.router.direct")
local drain = require("core.engine.drain")
local engine = require("core.app")
local graph = require("click.router.graph")
local kept = require("click.router.kept")
local link = require("core.link")
local meanwhile = require("core.lib.meanwhile")
local outside = require("core.outside.visitors")
local pool = require("core.pool")
local waking = require("core.idle.waking")

local Router = {}

--- Ask the driver to stop, `n` times (1): a DriverManager may go on.
function Router:stop(n) self.runcount = self.runcount - (n or 1) end

--- Go on after a stop.
function Router:adjust_runcount(n) self.runcount = self.runcount + n end

local MOST_STEPS = 1000

--- How many stops have been asked for, of a router whose stops somebody else deals with
--- (self.passes_stops_on); it goes on.
function Router:take_stops()
  local n = math.max(0, 1 - self.runcount)
  self:adjust_runcount(n)
  return n
end

--- Has the driver stopped for good? The element that manages stops, router.manager, is
--- asked first: stopped() returns true if it took one.
function Router:has_ended()
  if self.runcount > 0 or self.passes_stops_on then return self.ended end
  local manager = self.manager
  for _ = 1, manager and MOST_STEPS or 0 do
    if self.ended or not manager:stopped() or self.runcount > 0 then break end
  end
  self.ended = self.ended or self.runcount <= 0
  return self.ended
end

local STOPS_AT_SIGNAL = 2 ^ 31 -- more than a DriverManager waits for

--- A signal has ended the run: a DriverManager goes on without waiting, to its end, or
--- until it comes back to where it was.
function Router:interrupt()
  local manager = self.manager
  self:stop(STOPS_AT_SIGNAL)
  for _ = 1, manager and not self.ended and MOST_STEPS or 0 do
    local position = manager.position
    if not manager:stopped() or manager.position <= position then break end
  end
  self.ended = true
end

local METER_SECONDS = 0.01
local NO_RATE = 1 -- events a second: what is less is as good as nothing

-- Note the time, and sample rates now and then.
function Router:begin_turn()
  local now = self.clock:peek()
  self.turned, self.turns = now, self.turns + 1
  if now - self.metered < METER_SECONDS then return end
  self.metered = now
  for _, rate in ipairs(self.meters) do rate:sample(now) end
end

local POLL_SECONDS = 0.001

local function call_each(list)
  for i = 1, #list do list[i]() end
end

-- (LuaJIT compiles neither pairs() nor closures, and this is called after every
-- breath.)
local function poll_all(self)
  call_each(self.frequent_polls)
  if #self.polls == 0 then return end
  local now = C.pg_now()
  if now - self.polled < POLL_SECONDS then return end
  self.polled = now
  call_each(self.polls)
end

local TURNS = 128 -- of tasks, before timers are looked at
local HALF_LINK = math.floor(link.max / 2)

-- How many turns are taken in a breath. Where packets go to another thread, or by links
-- (nothing is fused, or the region is cut before an element that looks ahead), what
-- tasks send at once has room in a link, with those of other routers in this process
-- that may send to it, `sharing` of them with this one. Tasks that push all they can
-- pull send `most_at_once` packets in a turn.
local function set_turns(self, is_cut)
  local burst, by_links = 0, is_cut or self.options.is_part or not engine.fuse
  for _, e in ipairs(by_links and self.elements or {}) do
    if e.class.task and e.class.emits then
      burst = math.max(burst, rawget(e, "burst") or 1)
    end
  end
  local room = math.floor(HALF_LINK / (self.options.sharing or 1))
  self.most_at_once = by_links and math.max(1, room) or math.huge
  self.most_turns = math.max(1, math.min(TURNS, math.floor(room / math.max(burst, 1))))
end

-- Elements whose state may outgrow the caches, and which look ahead then.
local function lookers_of(self)
  local list = {}
  for _, e in ipairs(self.elements) do
    if e.ahead and e.outgrows_cache then list[#list + 1] = e end
  end
  return list
end

-- The engine cuts the region before one of these sooner or later.
local function expect_cuts(self)
  local list = self.lookers
  for i = 1, #list do
    if list[i]:outgrows_cache() then
      self.lookers = {}
      return set_turns(self, true)
    end
  end
end

--- Let tasks and timers run; true if there was something to do.
function Router:turn()
  self:begin_turn()
  if #self.lookers > 0 then expect_cuts(self) end
  self.turning = "polls"
  if self.polling then poll_all(self) end
  self.turning = "tasks"
  local worked = self.tasks:run(self.most_turns, self.is_stopped)
  -- A signal that came meanwhile comes before timers.
  if self.polling then call_each(self.frequent_polls) end
  if self.runcount > 0 and self.clock:run() > 0 then worked = true end
  if not worked and self.runcount > 0 and not self.tasks:active() then
    worked = self.clock:jump()
  end
  self.turning = false
  return worked
end

--- Let packets pass, when something else takes long, in a handler that a task or a
--- control socket has written to; tasks and timers too, if none of these has.
function Router:go_on()
  if not self.turning or self.options.direct then return end
  engine.breathe()
  if self.turning ~= "polls" or self.runcount <= 0 then return end
  self:begin_turn()
  self.tasks:run(self.most_turns, self.is_stopped)
  if self.runcount > 0 then self.clock:run() end
end

--- Let the engine know that elements' process() has changed.
function Router:rearrange()
  if self.giving_way then
    self.disarranged = true
  elseif self.active and not self.options.direct then
    engine.configure(engine.configuration)
  end
end

-- Packets that have come in by push connections. `count(link)`: how many it had.
local function packets_into(e, count)
  local sum = 0
  for i = 1, #(rawget(e, "input") or "") do sum = sum + count(e.input[i]) end
  return sum
end

local function counted(l) return link.stats(l).rxpackets end

-- Of a link whose counters are up to date, without a look at them.
local function cursor(l) return tonumber(l.read) end

--- Packets that have come to the element by push connections since this router runs.
function Router:arrivals(e)
  return self.active and packets_into(e, counted) - (self.arrived[e] or 0) or 0
end

-- What is on its way gets to its end, so that no link is freed with packets in it.
local function run_out()
  drain.here()
  drain.release()
end

-- Take the place of `old`, which goes on while that is prepared.
local function succeed(self, old)
  old.turning, old.giving_way = "polls", true
  local ok, err = pcall(meanwhile.call, function () old:go_on() end, function ()
    engine.configure_meanwhile(graph.configuration(self), run_out)
  end)
  old.turning, old.giving_way = false, false
  if not ok then error(err, 0) end
end

--- Make it the one that runs: it takes over from `old`, if it replaces one.
function Router:activate()
  if #self.connections > 0 then pool.create() end
  if self.options.direct then
    direct.connect(self)
  elseif self.old then
    succeed(self, self.old)
  else
    engine.configure(graph.configuration(self))
  end
  self:begin()
end

--- The same when the engine has its apps already.
function Router:begin()
  local old = self.old
  self.old, self.options.old = nil, nil -- else each keeps all that there were before
  cpu_time.begin(self)
  set_turns(self)
  self.lookers = lookers_of(self)
  self.active, self.arrived = true, {} -- links that stay have counted before
  for _, e in ipairs(self.elements) do self.arrived[e] = packets_into(e, cursor) end
  self.clock:begin(old and old.clock)
  if old then
    old.tasks:clear()
    for _, e in ipairs(self.order) do
      local former = old.by_name[e.name]
      local takes = former and former.class == e.class and e.take_state
      if takes then takes(e, former) end
    end
    old:close()
  end
  kept.begin(self)
  for _, e in ipairs(old and old.order or {}) do
    if e.let_go then e:let_go() end
  end
end

jit.off(Router.begin) -- what runs once isn't worth it, and packets wait

-- What the engine asks after each breath. It may sleep if there is nothing to do.
local function run_turn(self)
  if self:has_ended() then return true end
  engine.busywait = self:turn()
  return self:has_ended()
end

local SOON_SECONDS = 1e-4 -- as exact as tasks are that find nothing to do

-- When the turn that found nothing to do is to be followed by one, on C.pg_now's clock.
local function next_turn(self)
  local now, due = C.pg_now(), math.huge
  if self.tasks:active() then return now + SOON_SECONDS end
  if not self.clock.simulated and self.clock.n > 0 then due = self.clock:next_real() end
  for i = 1, #self.meters do
    if self.meters[i].value >= NO_RATE then due = math.min(due, now + METER_SECONDS) end
  end
  if #self.polls > 0 and not self:poll_can_wait() then
    due = math.min(due, math.max(self.polled + POLL_SECONDS, now))
  end
  return due
end

-- The router that the engine runs: its descriptors wake it.
local at_work
outside.let_in{descriptor = function ()
  if at_work then return unpack(at_work:poll_descriptors()) end
end}

-- The router that runs next: the successor of this one, if it has one.
local function next_router(self, exchange)
  return self.successor and exchange(self) or self
end

local function run_engine(self, exchange)
  local running = self
  at_work = self
  local ok, err = pcall(engine.main, {no_report = true, measure_latency = false,
    done = function ()
      running = next_router(running, exchange)
      if running ~= at_work then
        at_work = running
        waking.changed()
      end
      if run_turn(running) and not running.successor then return true end
      return false, not engine.busywait and next_turn(running) or nil
    end})
  engine.busywait, at_work = false, nil
  if not ok then error(err, 0) end
  run_out()
  engine.sync(true)
  if engine.interrupted then running:interrupt() end
  return running
end

--- Go on after another router should have taken its place, and couldn't.
function Router:resume()
  self.ended, self.replaced = false, false
  if self.disarranged then self:rearrange() end
  self.disarranged = false
end

-- Without the engine.
local function run_directly(self, exchange)
  local running = self
  repeat
    while not running:has_ended() do running:turn() end
    local before = running
    running = next_router(running, exchange)
  until running == before
  return running
end

--- Run until it ends. When it gets a successor (the field), exchange(router) makes that
--- take its place, and returns the one that runs on. Returns the last one.
function Router:run(exchange)
  if not self.active then self:activate() end
  return (self.options.direct and run_directly or run_engine)(self, exchange)
end

--- Clean up: elements free what they hold. (Only those that were configured; whether
--- initialize() has been called, e.initialized says.)
function Router:close()
  if self.closed then return end
  self.closed, self.ended = true, true
  self.tasks:clear()
  for i = #(self.order or {}), 1, -1 do
    local e = self.order[i]
    if e.configured then e:cleanup() end
  end
end

return Router

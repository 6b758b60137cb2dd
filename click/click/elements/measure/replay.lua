-- SPDX-License-Identifier: Apache-2.0
-- Replay, ReplayUnqueue, MultiReplay and MultiReplayUnqueue load packets, and give them
-- again and again. They leave at the output of their input's number.

local element = require("click.element")
local expressions = require("click.traffic.expressions")
local packet = require("core.packet")
local replays = require("click.traffic.replays")

local take, ready, stop = replays.take, replays.ready, replays.stop
local end_loop, time_is_over = replays.end_loop, replays.time_is_over
local define = replays.define

local SOON = 10e-6 -- seconds, for which no timer is set

-- Pushing -------------------------------------------------------------------------

local function initialize_push(self)
  replays.find_upstream(self)
  self.timer = self.router:timer(function () self:schedule() end)
  self:schedule()
end

-- Push up to a burst; `until_due`: only those whose time has come.
local function push_burst(self, until_due)
  local emit, sent = self.emit, 0
  for _ = 1, self.burst do
    local at = self.at
    if at >= self.n or until_due and self.offsets[at] > until_due then break end
    local o = self.from[at] + 1
    emit(o, take(self))
    sent = sent + 1
  end
  return sent
end

local function push_task(self)
  if not ready(self) then
    self:unschedule()
    return false
  end
  local sent = push_burst(self)
  if self.at >= self.n and not end_loop(self) then self:unschedule() end
  return sent > 0
end

local MultiReplayUnqueue = define{
  name = "MultiReplayUnqueue",
  summary = "replays packets of several inputs, from memory",
  processing = "l/h", emits = true, initialize = initialize_push, task = push_task,
}

-- At their times ------------------------------------------------------------------

-- The functions that @1 and @2 stand for, with TIMING and STOP_TIME in them.
local KNOWN = {
  ["@1"] = "100 * ((sin(-pi/2 + (x/10)^2.5) * (-x/TIME + 1) + 1)"
    .. " * ((MAX - 1) / 2) + 1)",
  ["@2"] = "100 * ((-squarewave(((x + 40) / 50)^5) * (-x/TIME + 1) + 1)"
    .. " * ((MAX - 1) / 2) + 1)",
}

local ReplayUnqueue = define{
  name = "ReplayUnqueue", summary = "replays packets from memory, at their times",
  processing = "l/h", emits = true, initialize = initialize_push,
  arguments = {
    {"TIMING", "unsigned", default = 0, keyword = true},
    {"TIMING_FNT", "string", keyword = true},
  },
  handlers = {timing = element.data("timing", "unsigned")},
}

function ReplayUnqueue:configure_more(a)
  self.timing = a.TIMING
  local text = a.TIMING_FNT
  if not text or text == "" or text == "@0" then return end
  text = (KNOWN[text] or text):gsub("MAX", a.TIMING):gsub("TIME", a.STOP_TIME)
  self.timing_of = expressions.compile(text)
  if not self.timing_of then
    return self:error("TIMING_FNT: can't understand '%s'", text)
  end
  self.timing = math.floor(self.timing_of(0))
end

-- Change the speed as the function says; what was sent before keeps its time.
local function follow_function(self, now, passed)
  local timing = math.floor(self.timing_of(now - self.started) or 0)
  if timing == self.timing then return passed end
  self.scale_from, self.began, self.timing = passed, now, timing
  return passed
end

-- How far the packets' time has gone, in seconds from the first one.
local function packet_time(self, now)
  local passed = self.scale_from + (now - self.began) * self.timing / 100
  return self.timing_of and follow_function(self, now, passed) or passed
end

-- Wait for the next packet's time.
local function wait(self, passed)
  local left = (self.offsets[self.at] - passed) * 100 / self.timing
  if left < SOON then return end
  self:unschedule()
  self.timer:after(left)
end

local function timed_task(self)
  local passed = packet_time(self, self.router:steady())
  if self.timing == 0 then
    stop(self)
    self:unschedule()
    return false
  end
  local sent = push_burst(self, passed)
  if self.at >= self.n then
    if not end_loop(self) then self:unschedule() end
  elseif self.most_seconds > 0 and time_is_over(self) then
    self.loops = 0
    stop(self)
    self:unschedule()
  elseif sent < self.burst then
    wait(self, passed)
  end
  return sent > 0
end

function ReplayUnqueue:task()
  if self.timing == 0 and not self.timing_of then return push_task(self) end
  if not ready(self) then
    self:unschedule()
    return false
  end
  return timed_task(self)
end

-- Pulling -------------------------------------------------------------------------

local function initialize_pull(self)
  replays.find_upstream(self)
  self.waiting = {}
  for o = 1, self.noutputs do self.waiting[o] = {first = 1, last = 0} end
end

-- The next packet for output `o` that was passed over before, or nil.
local function take_waiting(self, o)
  local queue = self.waiting[o]
  if queue.first > queue.last then return nil end
  local p = queue[queue.first]
  queue[queue.first], queue.first = nil, queue.first + 1
  return p
end

-- Pull for output `o`: packets for others wait for these, QUEUE of them at most.
local function pull_for(self, o)
  local p = take_waiting(self, o)
  while not p and ready(self) do
    if self.at >= self.n and not end_loop(self) then break end
    local queue, to = self.waiting[self.from[self.at] + 1], self.from[self.at] + 1
    if to ~= o and queue.last - queue.first + 1 >= self.queue then break end
    local q = take(self)
    if to == o then
      p = q
    else
      queue.last = queue.last + 1
      queue[queue.last] = q
    end
  end
  return p
end

local function cleanup_pull(self)
  for o = 1, #(self.waiting or {}) do
    local p = take_waiting(self, o)
    while p do
      packet.free(p)
      p = take_waiting(self, o)
    end
  end
  replays.unload(self)
end

local function take_queue(self, a) self.queue = math.max(a.QUEUE, 1) end

local Replay = define{
  name = "Replay", summary = "replays packets from memory", processing = "l/l",
  notifies = "empty", initialize = initialize_pull, pull = pull_for,
  cleanup = cleanup_pull, configure_more = take_queue,
  arguments = {{"QUEUE", "unsigned", default = 1024, keyword = true}},
}

local MultiReplay = define{
  name = "MultiReplay", summary = "replays packets of several inputs, from memory",
  processing = "l/l", notifies = "empty", initialize = initialize_pull, pull = pull_for,
  cleanup = cleanup_pull, configure_more = take_queue,
  arguments = {{"QUEUE", "unsigned", default = 1024}},
}

return {Replay, ReplayUnqueue, MultiReplay, MultiReplayUnqueue}

-- SPDX-License-Identifier: Apache-2.0
-- A router's clock, and its timers. Real time, or simulated: then it goes on by one
-- nanosecond whenever it is read, and jumps when the router has nothing to do before
-- its next timer.
--
-- Times are doubles in seconds. Timers use the monotonic clock, which nobody sets.

local ffi = require("ffi")
local C = require("core.native")

local Clock = {}
Clock.__index = Clock

local clock = {}

local TICK = 1e-9 -- seconds, by which simulated time goes on when it is read, usually
local START = 1e9 -- seconds since 1970, where simulated time begins

--- A clock. `options`: simulated = true, or seconds since 1970 at which simulated time
--- begins (10^9); tick, the seconds by which it goes on when it is read (10^-9).
function clock.new(options)
  local simulated = options and options.simulated
  return setmetatable({
    simulated = simulated and true or false,
    tick = options and options.tick or TICK,
    start = type(simulated) == "number" and simulated or START,
    passed = 0, -- simulated seconds since the start
    held = 0,   -- what a steady clock shows that doesn't go yet
    heap = {}, n = 0, made = 0,
  }, Clock)
end

--- Let the steady clock go, which stands still until then: what is to happen a second
--- after the start doesn't happen earlier because the start took long. `other`: go on
--- from where that clock is.
function Clock:begin(other)
  if other then self.passed = math.max(self.passed, other.passed) end
  if self.held then self.offset, self.held = C.pg_now() - self.held, nil end
end

local function real_steady(self) return self.held or C.pg_now() - self.offset end

local function advance(self)
  local at = self.passed
  self.passed = at + self.tick
  return at
end

--- Seconds since 1970.
function Clock:now()
  if self.simulated then return self.start + advance(self) end
  return tonumber(C.pg_real_ns()) * 1e-9
end

--- Nanoseconds since 1970, an int64_t: exact, for packets' annotations.
function Clock:nanoseconds()
  if self.simulated then
    return ffi.cast("int64_t", self.start) * 1000000000LL
      + ffi.cast("int64_t", advance(self) * 1e9 + 0.5)
  end
  return C.pg_real_ns()
end

--- Seconds on the steady clock. (Simulated: since the start, which is exact to less
--- than a nanosecond.)
function Clock:steady()
  if self.simulated then return advance(self) end
  return real_steady(self)
end

--- The same; simulated time doesn't go on by it.
function Clock:peek()
  return self.simulated and self.passed or real_steady(self)
end

--- The wall clock's time, in nanoseconds since 1970, an int64_t, at one of the steady
--- clock.
function Clock:nanoseconds_at(steady)
  if self.simulated then
    return ffi.cast("int64_t", self.start) * 1000000000LL
      + ffi.cast("int64_t", steady * 1e9 + 0.5)
  end
  return self:nanoseconds() + ffi.cast("int64_t", (steady - real_steady(self)) * 1e9)
end

--- The steady clock's time at that of the wall clock.
function Clock:to_steady(wall)
  if self.simulated then return wall - self.start end
  return wall - (self:now() - real_steady(self))
end

-- Timers: a binary heap, those of one time in the order they were set -----

local function before(a, b)
  return a.due < b.due or a.due == b.due and a.number < b.number
end

local function put(heap, at, timer)
  heap[at] = timer
  timer.place = at
end

local function rise(heap, at)
  local timer = heap[at]
  while at > 1 do
    local parent = math.floor(at / 2)
    if not before(timer, heap[parent]) then break end
    put(heap, at, heap[parent])
    at = parent
  end
  put(heap, at, timer)
end

local function sink(heap, n, at)
  local timer = heap[at]
  while 2 * at <= n do
    local child = 2 * at
    if child < n and before(heap[child + 1], heap[child]) then child = child + 1 end
    if not before(heap[child], timer) then break end
    put(heap, at, heap[child])
    at = child
  end
  put(heap, at, timer)
end

local Timer = {}
Timer.__index = Timer

--- A timer that calls f(timer) when it is due; it isn't set yet.
function Clock:timer(f)
  return setmetatable({clock = self, call = f}, Timer)
end

--- Is it set?
function Timer:scheduled() return self.place ~= nil end

--- Don't call it.
function Timer:unschedule()
  local at, owner = self.place, self.clock
  if not at then return end
  local heap, n = owner.heap, owner.n
  local last = heap[n]
  heap[n], owner.n, self.place = nil, n - 1, nil
  if last ~= self then
    put(heap, at, last)
    rise(heap, at)
    sink(heap, n - 1, last.place)
  end
end

--- Call it at that time of the steady clock.
function Timer:at_steady(due)
  local owner = self.clock
  self:unschedule()
  owner.made = owner.made + 1
  self.due, self.number = due, owner.made
  owner.n = owner.n + 1
  put(owner.heap, owner.n, self)
  rise(owner.heap, owner.n)
end

--- Call it at that time, in seconds since 1970.
function Timer:at(time) self:at_steady(self.clock:to_steady(time)) end

--- Call it so many seconds from now.
function Timer:after(seconds) self:at_steady(self.clock:steady() + seconds) end

--- Call it so many seconds after it was due the last time: for what is periodic.
function Timer:again(seconds)
  self:at_steady((self.due or self.clock:steady()) + seconds)
end

--- When it is due on the steady clock, if it is set.
function Timer:expiry() return self.place and self.due end

--- When the next timer is due on the clock of C.pg_now, of a clock with a timer that
--- goes, and isn't simulated.
function Clock:next_real() return self.heap[1].due + self.offset end

--- When the next timer is due on the steady clock, or nil.
function Clock:next() return self.n > 0 and self.heap[1].due or nil end

local MOST = 64 -- timers in one go, else those set again for now would never end

--- Call the timers that are due; how many.
function Clock:run()
  if self.n == 0 then return 0 end
  local now, count = self:steady(), 0
  while self.n > 0 and self.heap[1].due <= now and count < MOST do
    local timer = self.heap[1]
    timer:unschedule()
    count = count + 1
    timer.call(timer)
    if self.stopped then break end
  end
  return count
end

--- Simulated time: go on to the next timer. True if time is simulated and there is one.
function Clock:jump()
  local due = self:next()
  if not (self.simulated and due) then return false end
  self.passed = math.max(self.passed, due)
  return true
end

return clock

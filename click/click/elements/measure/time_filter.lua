-- SPDX-License-Identifier: Apache-2.0
-- TimeFilter passes packets whose timestamps are within a range.

local arguments = require("click.arguments")
local element = require("click.element")
local expand = require("click.language.variables").expand
local ffi = require("ffi")
local note = require("click.note")

local TIMESTAMP = note.TIMESTAMP
local NANOSECONDS = 1e9
local FOREVER = 9223372036854775807LL -- nanoseconds
local int64 = ffi.typeof("int64_t")

local TimeFilter = element.define{
  name = "TimeFilter", summary = "passes packets of a range of time",
  ports = "1/1-2", processing = "a/ah", drops = {"outside the time"},
  arguments = {
    {"START", "seconds"}, {"END", "seconds"},
    {"START_DELAY", "seconds", keyword = true},
    {"END_DELAY", "seconds", keyword = true},
    {"START_AFTER", "seconds", keyword = true},
    {"END_AFTER", "seconds", keyword = true},
    {"INTERVAL", "seconds", keyword = true},
    {"STOP", "bool", default = false, keyword = true},
    {"END_CALL", "argument", keyword = true},
  },
}

local function nanoseconds(seconds)
  local whole = math.floor(seconds)
  return int64(whole) * 1000000000LL + int64((seconds - whole) * NANOSECONDS + 0.5)
end

-- How many of the three are given, and not zero.
local function given(a, b, c, d)
  local function one(x) return x and x > 0 and 1 or 0 end
  return one(a) + one(b) + one(c) + one(d)
end

function TimeFilter:configure(a)
  if given(a.START, a.START_AFTER, a.START_DELAY) > 1 then
    return self:error("START, START_AFTER, and START_AFTER_INIT are mutually exclusive")
  elseif given(a.END, a.END_AFTER, a.END_DELAY, a.INTERVAL) > 1 then
    return self:error(
      "END, END_AFTER, END_AFTER_INIT, and INTERVAL are mutually exclusive")
  elseif a.END_CALL and a.STOP then
    return self:error("END_CALL and STOP are mutually exclusive")
  end
  self.wish, self.settled = a, false
  self.first, self.last = 0LL, FOREVER
  self.end_call = a.END_CALL or a.STOP and "stop true" or nil
end

-- A handler is called with "$t" in its text as the packet's time.
function TimeFilter:initialize()
  self.began = self.router:nanoseconds()
  self.armed = self.end_call ~= nil
  if not self.armed then return end
  local _, problem = self.router:writer(self.end_call, self)
  if problem then self:error("%s", problem) end
end

-- What is relative to the first packet's time, or to the beginning.
local function settle(self, time)
  local a = self.wish
  self.settled = true
  if a.START_DELAY then self.first = self.began + nanoseconds(a.START_DELAY)
  elseif a.START and a.START > 0 then self.first = nanoseconds(a.START)
  else self.first = time + nanoseconds(a.START_AFTER or 0) end
  if a.END_DELAY then self.last = self.began + nanoseconds(a.END_DELAY)
  elseif a.END and a.END > 0 then self.last = nanoseconds(a.END)
  elseif a.END_AFTER then self.last = time + nanoseconds(a.END_AFTER)
  elseif a.INTERVAL then self.last = self.first + nanoseconds(a.INTERVAL) end
end

-- Call the handler, which may set another end; as long as it does, and it isn't enough.
local function call_at_end(self, time)
  local text = expand(self.end_call, function (name)
    return name == "t" and note.time_text(time) or nil
  end)
  local call = self.router:writer(text, self)
  local before
  repeat
    before, self.armed = self.last, false
    if call then call() end
  until time < self.last or not self.armed or self.last <= before
end

function TimeFilter:process(p)
  local time = int64(p.note64[TIMESTAMP])
  if not self.settled then settle(self, time) end
  if time >= self.first then
    if time >= self.last and self.armed then call_at_end(self, time) end
    if time < self.last then return p end
  end
  if self.noutputs > 1 then return p, 2 end
  return nil, 1
end

-- A handler that sets something from a time.
local function setter(set)
  return function (self, text)
    local seconds = arguments.types.seconds(text, {})
    if not seconds then return "expected time" end
    set(self, nanoseconds(seconds))
  end
end

local function time_text(field)
  return function (self) return note.time_text(self[field]) end
end

local function set_end(compute)
  return setter(function (self, time)
    if not self.settled then settle(self, 0LL) end
    self.last, self.armed = compute(self, time), self.end_call ~= nil
  end)
end

TimeFilter.handlers = {
  start = {read = time_text("first"), write = setter(function (self, time)
    if not self.settled then settle(self, time) end
    self.first = time
  end)},
  ["end"] = {read = time_text("last"), write = set_end(function (_, time)
    return time
  end)},
  interval = {
    read = function (self) return note.time_text(self.last - self.first) end,
    write = set_end(function (self, time) return self.first + time end),
  },
  extend_interval = {write = set_end(function (self, time)
    return self.last + time
  end)},
}

return {TimeFilter}

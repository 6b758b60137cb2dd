-- SPDX-License-Identifier: Apache-2.0
-- TimestampAccum measures how long packets took since their timestamps.

local element = require("click.element")
local note = require("click.note")

local TIMESTAMP = note.TIMESTAMP

local TimestampAccum = element.define{
  name = "TimestampAccum", ports = "1-/=", flow = "#/#",
  summary = "measures how long packets took since their timestamps",
  arguments = {{"STEADY", "bool", default = true, keyword = true,
    meaning = "changes nothing: the clock is that of SetTimestamp"}},
}

local function reset(self) self.count, self.sum = 0, 0 end

function TimestampAccum:configure()
  reset(self)
  self.least, self.most = math.huge, 0
end

function TimestampAccum:process(p, i)
  local took = tonumber(self.router:nanoseconds() - p.note64[TIMESTAMP])
  self.count, self.sum = self.count + 1, self.sum + took
  if took < self.least then self.least = took end
  if took > self.most then self.most = took end
  return p, i
end

function TimestampAccum:take_state(old)
  self.count, self.sum, self.least, self.most = old.count, old.sum, old.least, old.most
end

local function number(f)
  return {read = function (self) return ("%.17g"):format(f(self)) end}
end

TimestampAccum.handlers = {
  count = element.data("count"),
  time = number(function (self) return self.sum end),
  average_time = {read = function (self)
    return self.count > 0 and ("%.17g"):format(self.sum / self.count) or "-nan"
  end},
  min = number(function (self) return self.least < math.huge and self.least or 0 end),
  max = number(function (self) return self.most end),
  reset_counts = element.command(reset),
}

return {TimestampAccum}

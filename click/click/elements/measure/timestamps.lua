-- SPDX-License-Identifier: Apache-2.0
-- RecordTimestamp notes when it sees packets, by their numbers (NumberPacket), and
-- TimestampDiff how long they took from there.

local ffi = require("ffi")
local element = require("click.element")
local numbers = require("click.script.numbers")
local NumberPacket = require("click.elements.measure.numbers")[1]

local read_number, BYTES = NumberPacket.read_number, NumberPacket.BYTES

local USUAL = 65536 -- packets
local MOST = 2 ^ 28

local NONE = -1 -- instead of a time

local function new_times(n)
  local times = ffi.new("double[?]", n)
  for i = 0, n - 1 do times[i] = NONE end
  return times
end

-- RecordTimestamp -----------------------------------------------------------------

local RecordTimestamp = element.define{
  name = "RecordTimestamp", summary = "notes when packets pass",
  ports = "0-1/=", processing = "h/h",
  arguments = {
    {"COUNTER", "element", keyword = true, class = "NumberPacket"},
    {"N", "unsigned", default = USUAL, keyword = true, max = MOST},
    {"OFFSET", "int", default = -1, keyword = true},
    {"DYNAMIC", "bool", default = false, keyword = true},
    {"NET_ORDER", "bool", default = false, keyword = true},
    {"SAMPLE", "unsigned", default = 1, keyword = true},
    {"TXDEV", "element", keyword = true, class = "ToDPDKDevice"},
    {"TXDEV_QID", "unsigned", default = 0, keyword = true},
  },
}

function RecordTimestamp:configure(a)
  self.n = a.N > 0 and a.N or USUAL
  self.offset, self.dynamic, self.sample = a.OFFSET, a.DYNAMIC, math.max(a.SAMPLE, 1)
  self.net_order, self.counter = a.NET_ORDER, a.COUNTER
  self.times, self.next, self.lost = new_times(self.n), 0, 0
  if a.TXDEV then
    return self:error("TXDEV isn't supported; put the element in front of the device")
  elseif self.ninputs ~= 1 or self.noutputs ~= 1 then
    return self:error("You need to pass either TXDEV or use the element in path.")
  end
end

function RecordTimestamp:initialize()
  if self.counter then self.net_order = self.counter.net_order end
end

-- Make room for slot `i`; false if there is none.
local function grow(self, i)
  local n = self.n
  while n <= i do n = n * 2 end
  if n > MOST or self.offset >= 0 and not self.dynamic then
    self.lost = self.lost + 1
    if self.lost == 1 then
      self:remark("packet %.0f is beyond N, %d, so its time isn't noted. Give a"
        .. " larger N, or DYNAMIC true.", i, self.n)
    end
    return false
  end
  local times = new_times(n)
  ffi.copy(times, self.times, self.n * ffi.sizeof("double"))
  self.times, self.n = times, n
  return true
end

local function record(self, i)
  if i < self.n or grow(self, i) then self.times[i] = self.router:steady() end
end

function RecordTimestamp:process(p)
  local offset = self.offset
  if offset < 0 then
    record(self, self.next)
    self.next = self.next + 1
  elseif p.length >= offset + BYTES then
    local number = read_number(p, offset, self.net_order)
    if number % self.sample == 0 then record(self, number / self.sample) end
  end
  return p
end

-- The time noted for packet `number`, which is taken; nil if there is none.
function RecordTimestamp:take(number)
  local i = math.floor(number / self.sample)
  if i >= self.n then return nil end
  local time = self.times[i]
  if time == NONE then return nil end
  self.times[i] = NONE
  return time
end

-- TimestampDiff -------------------------------------------------------------------

local TimestampDiff = element.define{
  name = "TimestampDiff", summary = "measures how long packets took since they passed"
    .. " a RecordTimestamp",
  ports = "1/1-2", processing = "h/h", drops = {"no time noted"},
  arguments = {
    {"RECORDER", "element", required = true, class = "RecordTimestamp"},
    {"OFFSET", "unsigned", default = 40, keyword = true},
    {"N", "unsigned", default = 0, keyword = true, max = MOST},
    {"MAXDELAY", "unsigned", default = 1000, keyword = true},
    {"NANO", "bool", default = false, keyword = true},
    {"SAMPLE", "unsigned", default = 1, keyword = true},
    {"VERBOSE", "bool", default = false, keyword = true},
    {"TC_OFFSET", "int", default = -1, keyword = true},
    {"TC_MASK", "unsigned", default = 255, max = 255, keyword = true},
  },
}

function TimestampDiff:configure(a)
  self.recorder, self.offset = a.RECORDER, a.OFFSET
  self.limit = a.N
  self.capacity = a.N > 0 and a.N or USUAL
  self.delays = ffi.new("double[?]", self.capacity)
  self.classes = a.TC_OFFSET >= 0 and ffi.new("uint8_t[?]", self.capacity)
  self.n = 0
  self.scale = a.NANO and 1e9 or 1e6
  self.most = a.MAXDELAY / 1000
  self.sample, self.verbose = math.max(a.SAMPLE, 1), a.VERBOSE
  self.class_offset, self.class_mask = a.TC_OFFSET, a.TC_MASK
end

local function double(self)
  local capacity = self.capacity * 2
  if capacity > MOST then return false end
  local delays = ffi.new("double[?]", capacity)
  ffi.copy(delays, self.delays, self.n * ffi.sizeof("double"))
  if self.classes then
    local classes = ffi.new("uint8_t[?]", capacity)
    ffi.copy(classes, self.classes, self.n)
    self.classes = classes
  end
  self.delays, self.capacity = delays, capacity
  return true
end

-- Keep the delay, in seconds, of packet p.
local function keep(self, p, delay)
  local n = self.n
  if n >= self.capacity and (self.limit > 0 or not double(self)) then return end
  self.delays[n] = math.floor(delay * self.scale)
  if self.classes then
    local at = self.class_offset
    self.classes[n] = at < p.length and bit.band(p.data[at], self.class_mask) or 0
  end
  self.n = n + 1
end

local function too_late(self, number, delay)
  if not self.verbose then return end
  self:say("Packet %.0f experienced delay %.0f ms > %.0f ms", number, delay * 1000,
    self.most * 1000)
end

function TimestampDiff:process(p)
  local offset, recorder = self.offset, self.recorder
  if p.length < offset + BYTES then
    if self.noutputs > 1 then return p, 2 end
    return nil, 1
  end
  local number = read_number(p, offset, recorder.net_order)
  if number % self.sample ~= 0 then return p end
  local time = recorder:take(number)
  if not time then
    if self.noutputs > 1 then return p, 2 end
    return nil, 1
  end
  local delay = self.router:steady() - time
  if delay > self.most then too_late(self, number, delay) else keep(self, p, delay) end
  return p
end

-- Statistics ----------------------------------------------------------------------

-- Sum, least, largest and number of the delays from index `begin` on (of one class).
local function totals(self, begin, class)
  local sum, least, most, n = 0, math.huge, 0, 0
  for i = begin, self.n - 1 do
    if not class or self.classes and self.classes[i] == class then
      local delay = self.delays[i]
      sum, n = sum + delay, n + 1
      least, most = math.min(least, delay), math.max(most, delay)
    end
  end
  return sum, least == math.huge and 0 or least, most, n
end

local function mean(self, begin, class)
  local sum, _, _, n = totals(self, begin, class)
  return n == 0 and 0 or sum / n
end

local function deviation(self, begin)
  local average, square = mean(self, begin), 0
  for i = begin, self.n - 1 do square = square + (self.delays[i] - average) ^ 2 end
  return self.n > begin and math.sqrt(square / (self.n - begin)) or 0
end

local function percentile(self, begin, percent)
  local sorted = {}
  for i = begin, self.n - 1 do sorted[#sorted + 1] = self.delays[i] end
  if #sorted == 0 then return 0 end
  table.sort(sorted)
  local i = math.floor(percent * #sorted / 100)
  return sorted[math.max(1, math.min(i + 1, #sorted))]
end

-- The numbers in `text`, how many at most; nil if that is wrong.
local function arguments_of(text, most)
  local list = {}
  for word in text:gmatch("%S+") do
    list[#list + 1] = numbers.double(word)
    if #list > most or not list[#list] then return nil end
  end
  return list
end

-- A handler whose argument is where to begin, behind `leading` other numbers.
local function statistic(compute, leading)
  return {param = true, read = function (self, text)
    local list = arguments_of(text, (leading or 0) + 1)
    if not list then return nil, "expected numbers" end
    local begin = list[(leading or 0) + 1] or 0
    if begin > 0 and begin >= self.n then return "" end
    return numbers.text(compute(self, math.max(0, math.floor(begin)), list[1]))
  end}
end

local function dumped(format)
  return {read = function (self)
    local lines = {}
    for i = 0, self.n - 1 do lines[i + 1] = format(i, self.delays[i]) end
    return table.concat(lines)
  end}
end

local function least(self, begin) return (select(2, totals(self, begin))) end
local function largest(self, begin) return (select(3, totals(self, begin))) end
local function average(self, begin) return mean(self, begin) end

local handlers = {
  average = statistic(average), avg = statistic(average),
  avg_tc = statistic(function (self, begin, class) return mean(self, begin, class) end,
    1),
  min = statistic(least), max = statistic(largest), stddev = statistic(deviation),
  perc00 = statistic(least), perc100 = statistic(largest),
  median = statistic(function (self, begin) return percentile(self, begin, 50) end),
  perc = statistic(function (self, begin, percent)
    return percentile(self, begin, percent or 0)
  end, 1),
  index = {read = function (self) return self.n - 1 end},
  last = {read = function (self)
    return self.n > 0 and self.delays[self.n - 1] or 0
  end},
  dump = dumped(function (i, delay) return ("%d: %.0f\n"):format(i, delay) end),
  dump_list = dumped(function (_, delay) return ("%.0f\n"):format(delay) end),
}
for _, percent in ipairs{1, 5, 10, 25, 75, 90, 95, 99} do
  handlers[("perc%02d"):format(percent)] = statistic(function (self, begin)
    return percentile(self, begin, percent)
  end)
end
TimestampDiff.handlers = handlers

return {RecordTimestamp, TimestampDiff}

-- SPDX-License-Identifier: Apache-2.0
-- Elements that count packets and bytes, and measure rates.

local arguments = require("click.arguments")
local element = require("click.element")
local moving_average = require("click.scheduling.moving_average")
local rates = require("click.scheduling.rates")
local text_of = require("click.language.text")

-- Counter ------------------------------------------------------------------

local function rate_text(rate, factor)
  return function (self)
    self[rate]:sample(self.router:steady())
    return ("%.15g"):format(self[rate].value * factor)
  end
end

local function reset(self)
  self.count, self.bytes = 0, 0
  self.count_call_done, self.byte_call_done = false, false
  self.rate:reset()
  self.byte_rate:reset()
end

-- "N handler value": call it when so many have been counted. Sets self[field] =
-- {at =, call =}.
local function set_call(self, field, text)
  local first, rest = text_of.first_word(text)
  local at = arguments.value(first, {field, "count"}, self)
  if not at then return ("%s type mismatch"):format(field:upper()) end
  local call, problem = self.router:writer(rest, self)
  if not call then return problem end
  self[field] = {at = at, call = call, done = false}
  self.calls = true
end

local function call_handler(field)
  return {
    read = function (self) return self[field] and self[field].at or "" end,
    write = function (self, text) return set_call(self, field, text) end,
  }
end

local Counter = element.define{
  name = "Counter", summary = "counts packets and bytes",
  division = "any",
  -- FastClick's differ in how threads share the counts. Here one thread counts.
  aliases = {"CounterMP", "CounterAtomic", "CounterRCU", "CounterLock", "CounterLockMP",
    "CounterPLockMP", "CounterRW", "CounterRWMP", "CounterPRW", "CounterPRWMP",
    "CounterRxWMP", "CounterRxWMPPR", "CounterRxWMPPW"},
  arguments = {
    {"NO_RATE", "bool", default = false, keyword = true},
    {"COUNT_CALL", "argument", keyword = true},
    {"BYTE_COUNT_CALL", "argument", keyword = true},
    {"BATCH_PRECISE", "bool", default = false, keyword = true},
    {"ATOMIC", "int", default = 0, min = 0, max = 2, keyword = true},
  },
  handlers = {
    count = element.data("count"),
    byte_count = element.data("bytes"),
    rate = {read = rate_text("rate", 1)},
    byte_rate = {read = rate_text("byte_rate", 1)},
    bit_rate = {read = rate_text("byte_rate", 8)},
    count_call = call_handler("count_call"),
    byte_count_call = {write = call_handler("byte_count_call").write},
    reset = element.command(reset),
    reset_counts = element.command(reset),
  },
}

function Counter:configure(a)
  self.count, self.bytes, self.calls = 0, 0, false
  self.rate = rates.new(function () return self.count end)
  self.byte_rate = rates.new(function () return self.bytes end)
  self.wanted_calls = {count_call = a.COUNT_CALL, byte_count_call = a.BYTE_COUNT_CALL}
end

function Counter:initialize()
  for field, text in pairs(self.wanted_calls) do
    local problem = set_call(self, field, text)
    if problem then self:error("%s", problem) end
  end
  self.router:meter(self.rate)
  self.router:meter(self.byte_rate)
end

-- Call what is due at these counts.
local function check_calls(self)
  local by_count, by_bytes = self.count_call, self.byte_count_call
  if by_count and not by_count.done and self.count >= by_count.at then
    by_count.done = true
    by_count.call()
  end
  if by_bytes and not by_bytes.done and self.bytes >= by_bytes.at then
    by_bytes.done = true
    by_bytes.call()
  end
end

function Counter:process(p)
  self.count = self.count + 1
  self.bytes = self.bytes + p.length
  if self.calls then check_calls(self) end
  return p
end

function Counter:take_state(old)
  self.count, self.bytes = old.count, old.bytes
end

-- AverageCounter: from the first packet to the last ------------------------

local LINK_BYTES, FCS_BYTES = 20, 4 -- of a frame, besides its contents

local function bits_on_link(self)
  local each = LINK_BYTES + (self.link_fcs and FCS_BYTES or 0)
  return (self.bytes + self.count * each) * 8
end

local QUANTITIES = {
  count = function (self) return self.count end,
  byte_count = function (self) return self.bytes end,
  bit_count = function (self) return self.bytes * 8 end,
  link_count = bits_on_link,
}

-- The times are those of the driver's turns: what lies between is never much.
local function duration(self)
  if not self.first then return 0.001 end
  return math.max(0.001, self.last - self.first - self.ignore)
end

local function reset_average(self)
  self.count, self.bytes, self.first, self.last = 0, 0, nil, nil
  self.until_time, self.from_time = math.huge, math.huge
end

local AVERAGE_HANDLERS = {
  time = {join = "most", read = duration},
  reset = element.command(reset_average),
  reset_now = element.command(reset_average),
}
for name, quantity in pairs(QUANTITIES) do
  AVERAGE_HANDLERS[name] = {read = quantity}
  local rate = name == "count" and "rate" or name:gsub("count", "rate")
  AVERAGE_HANDLERS[rate] = {read = function (self)
    return quantity(self) / duration(self)
  end}
end

local AverageCounter = element.define{
  name = "AverageCounter", summary = "measures the average rate since the first packet",
  division = "any",
  aliases = {"AverageCounterMP", "AverageCounterIMP"},
  arguments = {
    {"IGNORE", "real", default = 0},
    {"LINK_FCS", "bool", default = true},
    {"MAX", "unsigned", default = 0, keyword = true},
    {"THRESHOLD", "unsigned", default = 0, keyword = true},
  },
  handlers = AVERAGE_HANDLERS,
}

function AverageCounter:configure(a)
  self.ignore, self.link_fcs = a.IGNORE, a.LINK_FCS
  self.most = a.MAX > 0 and a.MAX or math.huge
  reset_average(self)
end

-- The first packet since the last reset.
local function begin(self)
  local now = self.router:turn_time()
  self.first, self.last = now, now
  self.from_time, self.until_time = now + self.ignore, now + self.most
end

function AverageCounter:process(p)
  if not self.first then begin(self) end
  local now = self.router:turn_time()
  if now >= self.from_time and now < self.until_time then
    self.count = self.count + 1
    self.bytes = self.bytes + p.length
  end
  if now < self.until_time then self.last = now end
  return p
end

-- Meter: outputs by rate ---------------------------------------------------

local function limits_text(self)
  local list = {}
  for i, limit in ipairs(self.limits) do list[i] = moving_average.rate_text(limit) end
  return table.concat(list, " ")
end

local Meter = element.define{
  name = "Meter", summary = "sends packets to an output by their rate",
  division = "none", undivided = "it keeps all packets together to one rate",
  ports = "1/2-", processing = "h/h",
  handlers = {
    rate = {read = function (self)
      self.rate:add(0, self.router:turn_time())
      return moving_average.rate_text(self.rate.average.scaled)
    end},
    rates = {read = limits_text}, meters = {read = limits_text},
  },
}

function Meter:configure_raw(list)
  self.limits = {}
  for i, text in ipairs(list) do
    local limit = arguments.value(text, {"RATE", self.in_bytes and "bandwidth"
      or "unsigned"}, self)
    if not limit then return self:error("RATE: parse error") end
    self.limits[i] = moving_average.limit(limit)
  end
  if #list == 0 then return self:error("too few arguments to Meter(RATE, ...)") end
  if #list + 1 ~= self.noutputs then
    return self:error("%d rates need %d outputs", #list, #list + 1)
  end
  self.rate = moving_average.rate()
end

local function level(limits, rate)
  for i = 1, #limits do
    if rate < limits[i] then return i end
  end
  return #limits + 1
end

function Meter:process(p)
  self.rate:add(self.in_bytes and p.length or 1, self.router:turn_time())
  return p, level(self.limits, self.rate.average.scaled)
end

local BandwidthMeter = element.define{
  name = "BandwidthMeter", extends = Meter, in_bytes = true,
  summary = "sends packets to an output by their bandwidth",
}

return {Counter, AverageCounter, Meter, BandwidthMeter}

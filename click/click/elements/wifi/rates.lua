-- SPDX-License-Identifier: Apache-2.0
-- ProbeTXRate chooses the rate of wireless frames by how fast those before came through
-- at each (J. Bicket, Bit-rate Selection in Wireless Networks, 2005).

local arp = require("click.net.arp")
local bit = require("bit")
local chance = require("click.chance")
local element = require("click.element")
local ffi = require("ffi")
local shared = require("click.net.wifi_elements")
local wifi = require("click.net.wifi")
local wire = require("click.net.wire")

local band = bit.band
local USUAL_LENGTH, MOST_STATIONS, SAMPLE_EVERY = 1500, 1024, 10
local TRIES, SAMPLE_TRIES, SECOND_TRIES, SLOWEST = 4, 2, 2, 2
local RATE1, TRIES1, RATE2, TRIES2 = wifi.RATE + 1, wifi.TRIES + 1, wifi.RATE + 2,
  wifi.TRIES + 2

-- Times on the air (IEEE 802.11-2020, sections 16.3 and 17.4) -----------------------

-- Of rates in 500 kbit/s: those of 802.11b, whose slots and headers are longer.
local OF_B = {[2] = true, [4] = true, [11] = true, [22] = true}
local TIMES_B = {slot = 20, gap = 10, ack = 304, header = 96}
local TIMES_G = {slot = 9, gap = 9, ack = 30, header = 20}
local LONG_HEADER, FIRST_WINDOW, MOST_WINDOW = 192, 31, 1023
local NEVER = 99999 -- microseconds

-- Microseconds that a frame of `length` bytes takes at the rate, sent again `retries`
-- times.
local function time_of(length, rate, retries)
  if rate == 0 then return NEVER end
  local times = OF_B[rate] and TIMES_B or TIMES_G
  local header = rate == 2 and LONG_HEADER or times.header
  local once = math.floor(2 * (header + length * 8) / rate) + times.gap + times.ack
  local window, sum = FIRST_WINDOW, 0
  for _ = 0, retries do
    sum = sum + math.floor(times.slot * window / 2) + once
    window = math.min(MOST_WINDOW, (window + 1) * 2)
  end
  return sum
end

-- What is known of a station --------------------------------------------------------

local Station = {}
Station.__index = Station

local function new_station(rates)
  local station = setmetatable({rates = rates, at = {}, of = {}, results = {},
    first = 1, last = 0, count = 0}, Station)
  for i, rate in ipairs(rates) do
    station.at[rate] = station.at[rate] or i
    station.of[i] = {packets = 0, time = 0, success = 0, fail = 0, tries = 0,
      perfect = time_of(USUAL_LENGTH, rate, 0)}
  end
  return station
end

local function count(station, result, by)
  local one = station.of[result.at]
  local field = result.success and "success" or "fail"
  one[field] = one[field] + by
  one.packets, one.time = one.packets + by, one.time + by * result.time
  one.tries = one.tries + by * result.tries
end

function Station:add(result)
  self.last = self.last + 1
  self.results[self.last] = result
  count(self, result, 1)
end

-- Forget what was before that time.
function Station:trim(earliest)
  while self.first <= self.last and self.results[self.first].when < earliest do
    count(self, self.results[self.first], -1)
    self.results[self.first] = nil
    self.first = self.first + 1
  end
end

local function average(one)
  return one.success > 0 and math.floor(one.time / one.success) or 0
end

local FEW_FAILURES = 3

-- The index of the rate at which frames come through fastest; of those that weren't
-- tried, the highest.
function Station:best()
  local best
  for i, one in ipairs(self.of) do
    if one.success > 0 and (not best or average(one) < average(self.of[best])) then
      best = i
    end
  end
  if best then return best end
  for i = #self.of, 2, -1 do
    if self.of[i].fail < FEW_FAILURES then return i end
  end
  return 1
end

-- Rates that may be better than the best one.
function Station:worth_a_try(best)
  local time, list = average(self.of[best]), {}
  for i, one in ipairs(self.of) do
    if time >= one.perfect and (one.fail <= FEW_FAILURES or one.success > 0) then
      list[#list + 1] = self.rates[i]
    end
  end
  return list
end

-- The element -----------------------------------------------------------------------

local MOST_OFFSET = 0xffff

local ProbeTXRate = element.define{
  name = "ProbeTXRate", summary = "chooses the rate of wireless frames",
  ports = "2/0-2", processing = "ah/a", flow = "#/#", live = true,
  reads = {"WIFI_EXTRA"},
  drops = {"sent"},
  arguments = {
    {"OFFSET", "unsigned", required = true, keyword = true, max = MOST_OFFSET},
    {"WINDOW", "unsigned", required = true, keyword = true},
    {"THRESHOLD", "unsigned", required = true, keyword = true},
    shared.DEBUG, shared.RT,
    {"ACTIVE", "bool", default = true, keyword = true},
  },
  notes = "OFFSET is where frames have the receiver's address; results count for "
    .. "WINDOW milliseconds, failures of frames with less than THRESHOLD bytes don't. "
    .. "Input 1 takes frames that were sent, with how it went.",
  handlers = {
    debug = shared.debug(), active = element.data("active", "bool"),
    threshold = element.data("threshold", "unsigned"),
    offset = element.data("offset", "unsigned"),
    reset = element.command(function (self) self.stations, self.order = {}, {} end),
  },
}

function ProbeTXRate:configure(a)
  if a.WINDOW == 0 then return self:error("WINDOW must be > 0") end
  self.offset, self.window, self.threshold = a.OFFSET, a.WINDOW / 1000, a.THRESHOLD
  self.debug, self.available, self.active = a.DEBUG, a.RT, a.ACTIVE
  self.stations, self.order = self.stations or {}, self.order or {}
end

-- The receiver's address, or nil if the frame ends before.
local function receiver_of(self, p)
  if p.length < self.offset + 6 then return nil end
  return ffi.string(p.data + self.offset, 6)
end

local function station_of(self, address)
  local known = self.stations[address]
  if known and #known.rates > 0 then return known end
  if not known then
    if #self.order >= MOST_STATIONS then
      self.stations[table.remove(self.order, 1)] = nil
    end
    self.order[#self.order + 1] = address
  end
  known = new_station(self.available:lookup(address))
  self.stations[address] = known
  return known
end

local function assign(self, p)
  local address, extra = receiver_of(self, p), wifi.extra(p)
  if not address then return end
  if arp.is_group(address) or address == wifi.NOBODY then
    extra[wifi.RATE] = self.available:lookup(wifi.ALL)[1] or SLOWEST
    return
  end
  local station = station_of(self, address)
  station:trim(self.router:now() - self.window)
  if #station.rates == 0 then
    extra[wifi.RATE], extra[wifi.TRIES] = SLOWEST, TRIES
    return
  end
  local best = station:best()
  local rate, tries = station.rates[best], TRIES
  if station.count % SAMPLE_EVERY == 0 then
    local list = station:worth_a_try(best)
    if #list > 0 then
      rate, tries = list[1 + chance.among(#list)], SAMPLE_TRIES
    end
  end
  station.count = station.count + 1
  extra[wifi.RATE], extra[wifi.TRIES] = rate, tries
  extra[RATE1], extra[TRIES1] = station.rates[best], SECOND_TRIES
  for k = 0, 1 do extra[RATE2 + k], extra[TRIES2 + k] = 0, 0 end
  wire.barrier()
end

local function explain(self, fmt, ...)
  if self.debug then
    self:say("%s :: %s " .. fmt, self.name, self.class.name, ...)
  end
end

-- Learn from how a frame was sent.
local function learn(self, p)
  local address, extra, words = receiver_of(self, p), wifi.extra(p)
  if not address or address == wifi.ALL then return end
  local rate, retries = extra[wifi.RATE], extra[wifi.RETRIES]
  local success = band(words[1], wifi.TX_FAILED) == 0
  local station = self.stations[address]
  if rate == 0 then
    return explain(self, "no rate set for %s", wifi.eth_text(address))
  elseif not success and p.length < self.threshold then
    return explain(self, "short success for %s", wifi.eth_text(address))
  elseif not station then
    return explain(self, "no info for %s", wifi.eth_text(address))
  elseif #station.rates == 0 then
    return
  end
  station:add{when = self.router:now(), at = station.at[rate] or 1, success = success,
    tries = retries + 1, time = time_of(USUAL_LENGTH, rate, retries)}
end

function ProbeTXRate:process(p, i)
  if self.active then
    if i == 1 then assign(self, p) else learn(self, p) end
  end
  if i <= self.noutputs then return p, i end
  return nil, 1
end

function ProbeTXRate:pull(o)
  local p = self.pull_from[o]()
  if p and self.active then assign(self, p) end
  return p
end

ProbeTXRate.handlers.rates = {read = function (self)
  local lines = {}
  for _, address in ipairs(self.order) do
    lines[#lines + 1] = wifi.eth_text(address) .. "\n"
    local station = self.stations[address]
    for i, one in ipairs(station.of) do
      lines[#lines + 1] = (" %d success %d fail %d tries %d perfect_usecs %d "
        .. "total_usecs %d average_usecs %d average_tries %s\n"):format(
        station.rates[i], one.success, one.fail, one.tries, one.perfect, one.time,
        average(one), one.packets > 0
          and ("%.6f"):format(math.floor(one.tries * 1000 / one.packets) / 1000) or "0")
    end
  end
  return table.concat(lines)
end}

return {ProbeTXRate}

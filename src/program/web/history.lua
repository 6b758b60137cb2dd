-- SPDX-License-Identifier: Apache-2.0
-- The last ten minutes of instances, a point a second: packets, bits, drops, load and
-- the time of breaths; of each link its packets, of each app its drops and cycles. It
-- is kept whether a browser looks or not. Pure.

local cjson = require("cjson")
local sample = require("lib.observe.sample")

local history = {}

history.POINTS = 600

local POINTS = history.POINTS
local MOST_SERIES = 2000 -- of an instance; what comes above that has no history

local TOTALS = {"pps", "bits", "drops", "load", "breath", "longest_breath"}

local Instance = {}
Instance.__index = Instance

local function new_instance()
  return setmetatable({last = 0, series = {}, count = 0, times = {}}, Instance)
end

local function put(self, name, value)
  local series = self.series[name]
  if not series then
    if self.count >= MOST_SERIES then return end
    series = {values = {}}
    self.series[name], self.count = series, self.count + 1
  end
  if series.last and series.last < self.last - POINTS then series.values = {} end
  for i = math.max(series.last or self.last, self.last - POINTS) + 1, self.last - 1 do
    series.values[i % POINTS] = nil
  end
  series.values[self.last % POINTS] = value
  series.last = self.last
end

-- Series that nothing has been added to for ten minutes are no more.
local function forget(self)
  for name, series in pairs(self.series) do
    if series.last <= self.last - POINTS then
      self.series[name], self.count = nil, self.count - 1
    end
  end
end

--- Add a point: `time` in seconds since the epoch, `d` of lib.observe.sample, `now` of
--- program.web.live's figures (links, apps, cycles).
function Instance:add(time, d, now)
  self.last = self.last + 1
  self.times[self.last % POINTS] = time
  local latency = d.latency and d.latency.greatest > 0 and d.latency or {}
  put(self, "pps", d.engine.pps)
  put(self, "bits", d.engine.bits)
  put(self, "drops", sample.dropped(d))
  put(self, "load", d.engine.load)
  put(self, "breath", latency.average)
  put(self, "longest_breath", latency.greatest)
  for name, link in pairs(now.links) do put(self, "link:" .. name, link.pps) end
  for name, app in pairs(now.apps) do
    local drops = 0
    for _, drop in ipairs(app.drops or {}) do drops = drops + drop.pps end
    if app.drops then put(self, "drops:" .. name, drops) end
  end
  local cost = {}
  for _, c in ipairs(now.cycles or {}) do
    if c.app and c.cycles then cost[c.app] = (cost[c.app] or 0) + c.cycles end
  end
  for name, cycles in pairs(cost) do put(self, "cycles:" .. name, cycles) end
  if self.last % POINTS == 0 then forget(self) end
end

-- The values from number `first` on; what is unknown is null.
local function values(self, name, first)
  local series, list = self.series[name], {}
  for i = first, self.last do
    local value = series and series.last >= i and series.values[i % POINTS]
    list[#list + 1] = value and value == value and value or cjson.null
  end
  return list
end

--- What is known from point number `since` + 1 on: {last = the number of the newest
--- point, times = seconds since the epoch, a list of each of TOTALS, more = all values
--- by the names in `more`, such as "link:a.output -> b.input"}; nil if none is newer.
function Instance:since(since, more)
  local first = math.max(since + 1, self.last - POINTS + 1, 1)
  if first > self.last then return nil end
  local answer = {last = self.last, times = {}}
  for i = first, self.last do table.insert(answer.times, self.times[i % POINTS]) end
  for _, name in ipairs(TOTALS) do answer[name] = values(self, name, first) end
  for _, name in ipairs(more or {}) do
    answer.more = answer.more or {}
    answer.more[name] = values(self, name, math.max(1, self.last - POINTS + 1))
  end
  return answer
end

local History = {}
History.__index = History

--- Histories of instances, by process id.
function history.new() return setmetatable({by_pid = {}}, History) end

--- That of a process.
function History:of(pid)
  self.by_pid[pid] = self.by_pid[pid] or new_instance()
  return self.by_pid[pid]
end

--- Keep only those of processes in the set `pids`.
function History:keep(pids)
  for pid in pairs(self.by_pid) do
    if not pids[pid] then self.by_pid[pid] = nil end
  end
end

return history

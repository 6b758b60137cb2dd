-- SPDX-License-Identifier: Apache-2.0
-- Statistics of batches and bursts. Perigee's loops take packets one after the other
-- through a whole path; a batch is what passes an element in one turn of the router.

local element = require("click.element")
local note = require("click.note")
local value_counts = require("click.value_counts")

local AGGREGATE = note.AGGREGATE

-- BatchStats -----------------------------------------------------------------------

local BatchStats = element.define{
  name = "BatchStats", summary = "counts how many packets batches have",
  handlers = value_counts.handlers, reads = {},
  differs = "A batch is what passes in one turn of the router.",
}

function BatchStats:configure()
  value_counts.clear(self)
  self.n, self.turn = 0, -1
end

--- The packets that came in the last turn are a batch.
function BatchStats:settle()
  if self.n > 0 then value_counts.see(self, self.n) end
  self.n = 0
end

function BatchStats:process(p)
  local turn = self.router.turns
  if turn ~= self.turn then
    self:settle()
    self.turn = turn
  end
  self.n = self.n + 1
  return p
end

-- BurstStats -----------------------------------------------------------------------

local BurstStats = element.define{
  name = "BurstStats", summary = "counts packets of one aggregate in a row",
  handlers = value_counts.handlers, reads = {"AGGREGATE"},
  differs = "A burst that goes on isn't counted yet; there are no bursts of 0 packets.",
}

local LONGEST = 1023

function BurstStats:configure()
  value_counts.clear(self)
  self.n, self.last = 0, -1
end

function BurstStats:process(p)
  local aggregate = p.note32[AGGREGATE]
  if aggregate == self.last then
    self.n = self.n + 1
    return p
  end
  if self.n > 0 then value_counts.see(self, math.min(self.n, LONGEST)) end
  self.n, self.last = 1, aggregate
  return p
end

-- AverageBatchCounter --------------------------------------------------------------

local function ratio(packets, batches)
  return batches > 0 and ("%.12g"):format(packets / batches) or "0"
end

local function reader(period, f)
  return {read = function (self)
    self:roll()
    return f(self[period])
  end}
end

local function batches_of(c) return c.batches end
local function packets_of(c) return c.packets end
local function size_of(c) return ratio(c.packets, c.batches) end
local function length_of(c) return ratio(c.bytes, c.packets) end

local AverageBatchCounter = element.define{
  name = "AverageBatchCounter", summary = "counts batches, and packets in each",
  reads = {"AGGREGATE"},
  arguments = {
    {"INTERVAL", "unsigned", default = 1000, min = 1},
    {"LENGTH_STATS", "bool", default = false, keyword = true},
  },
  handlers = {
    average = reader("last", size_of), average_total = reader("total", size_of),
    count_packets = reader("last", packets_of),
    count_packets_total = reader("total", packets_of),
    count_batches = reader("last", batches_of),
    count_batches_total = reader("total", batches_of),
    average_frame_len = reader("last", length_of),
    average_frame_len_total = reader("total", length_of),
  },
  differs = "A batch is what passes in one turn of the router; totals are up to date.",
}

local function new_counts() return {batches = 0, packets = 0, bytes = 0} end

function AverageBatchCounter:configure(a)
  self.interval, self.lengths = a.INTERVAL / 1000, a.LENGTH_STATS
  self.total, self.last, self.before = new_counts(), new_counts(), new_counts()
  self.turn = -1
end

-- Is an element of the class upstream of `e`?
local function is_upstream(router, e, name, seen)
  for i = 1, e.ninputs do
    for _, far in ipairs(router:joined(e, false, i)) do
      local other = far.element
      if other.class.name == name then return true end
      if not seen[other] then
        seen[other] = true
        if is_upstream(router, other, name, seen) then return true end
      end
    end
  end
  return false
end

function AverageBatchCounter:initialize()
  if self.lengths and not is_upstream(self.router, self, "AggregateLength", {}) then
    self:warning("Could not find upstream AggregateLength element: LENGTH_STATS not "
      .. "available")
    self.lengths = false
  end
  self.began = self.router:steady()
end

-- What passed since the last interval ended is that of the last interval.
local function end_interval(self)
  local last = new_counts()
  for name, value in pairs(self.total) do
    last[name], self.before[name] = value - self.before[name], value
  end
  self.last = last
end

--- End the intervals that are over. (Without a timer, which would keep a router with
--- simulated time going.)
function AverageBatchCounter:roll()
  local over = math.floor((self.router:steady() - self.began) / self.interval)
  if over > 0 then end_interval(self) end
  if over > 1 then end_interval(self) end
  self.began = self.began + over * self.interval
end

local function begin_batch(self, turn)
  self:roll()
  self.turn = turn
  self.total.batches = self.total.batches + 1
end

function AverageBatchCounter:process(p)
  local turn, total = self.router.turns, self.total
  if turn ~= self.turn then begin_batch(self, turn) end
  total.packets = total.packets + 1
  if self.lengths then total.bytes = total.bytes + p.note32[AGGREGATE] end
  return p
end

return {BatchStats, BurstStats, AverageBatchCounter}

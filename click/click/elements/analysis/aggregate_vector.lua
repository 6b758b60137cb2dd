-- SPDX-License-Identifier: Apache-2.0
-- AggregateCounterVector counts packets or bytes by their aggregate annotation, in an
-- array: such as the load of each bucket of a card's indirection table.

local bit = require("bit")
local ffi = require("ffi")

local amount = require("click.traffic.amount")
local element = require("click.element")
local note = require("click.note")

local band, amount_of, AGGREGATE = bit.band, amount.of, note.AGGREGATE
local LARGEST = 2 ^ 24 - 1

local function flag(name, default)
  return {name, "bool", default = default, keyword = true}
end

local AggregateCounterVector = element.define{
  name = "AggregateCounterVector", lengthens = 0,
  division = "any",
  summary = "counts packets per aggregate annotation, in an array",
  reads = {"AGGREGATE", "EXTRA_PACKETS", "EXTRA_LENGTH", "NETWORK_HEADER"},
  arguments = {
    {"MASK", "unsigned", required = true, max = LARGEST}, flag("MARK", false),
    flag("BYTES", false), flag("IP_BYTES", false), flag("MULTIPACKET", true),
    flag("EXTRA_LENGTH", true),
  },
  notes = "MASK + 1 counters, one for each value of the masked annotation. The handler "
    .. "counts lists those that aren't 0, a line each; clear begins a new period: what "
    .. "was counted goes into averages, of which two thirds are the newest period.",
  differs = "counts, averages and clear are there: FastClick's counts can be read by "
    .. "DeviceBalancer alone. MARK changes nothing: no card numbers periods here.",
}

function AggregateCounterVector:configure(a)
  amount.configure(self, a)
  self.mask, self.active = a.MASK, true
  self.counts = ffi.new("uint64_t[?]", a.MASK + 1)
  self.averages = ffi.new("uint64_t[?]", a.MASK + 1)
end

function AggregateCounterVector:process(p)
  if self.active then
    local i = band(p.note32[AGGREGATE], self.mask)
    self.counts[i] = self.counts[i] + amount_of(self, p)
  end
  return p
end

-- The numbers of the array that aren't 0, a line each.
local function lines(field)
  return {read = function (self)
    local list = {}
    for i = 0, self.mask do
      local n = tonumber(self[field][i])
      if n ~= 0 then list[#list + 1] = ("%d %.0f\n"):format(i, n) end
    end
    return table.concat(list)
  end}
end

-- A period is over.
local function clear(self)
  for i = 0, self.mask do
    self.averages[i] = self.averages[i] / 3 + self.counts[i] * 2 / 3
    self.counts[i] = 0
  end
end

AggregateCounterVector.handlers = {
  active = element.data("active", "bool"), counts = lines("counts"),
  averages = lines("averages"), clear = element.command(clear),
  stop = element.command(function (self)
    self.active = false
    self.router:stop()
  end),
}

return {AggregateCounterVector}

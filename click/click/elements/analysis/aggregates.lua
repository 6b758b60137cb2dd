-- SPDX-License-Identifier: Apache-2.0
-- Elements that set the aggregate annotation from what is at hand, or choose packets by
-- it. AggregateIP and AggregateIPFlows have files of their own.

local bit = require("bit")
local arguments = require("click.arguments")
local element = require("click.element")
local note = require("click.note")
local text_of = require("click.language.text")

local AGGREGATE, EXTRA_LENGTH, NETWORK =
  note.AGGREGATE, note.EXTRA_LENGTH, note.NETWORK_HEADER

-- AggregateFirst -------------------------------------------------------------------

local AggregateFirst = element.define{
  name = "AggregateFirst", summary = "passes the first packet of each aggregate",
  ports = "1/1-2", processing = "a/ah", drops = {"not the first"},
  reads = {"AGGREGATE"}, fills_cache = true,
  arguments = {{"NOTIFIER", "element", keyword = true}},
}

function AggregateFirst:configure(a)
  if a.NOTIFIER and not a.NOTIFIER.when_over then
    return self:error("%s is not an AggregateNotifier", a.NOTIFIER.name)
  end
  self.notifier, self.seen = a.NOTIFIER, {}
end

--- Aggregates that are over are forgotten.
function AggregateFirst:initialize()
  if not self.notifier then return end
  self.notifier:when_over(function (number) self.seen[number] = nil end)
end

function AggregateFirst:process(p)
  local number = p.note32[AGGREGATE]
  if not self.seen[number] then
    self.seen[number] = true
    return p
  end
  if self.noutputs > 1 then return p, 2 end
  return nil, 1
end

function AggregateFirst:take_state(old)
  for number in pairs(old.seen) do self.seen[number] = true end
end

-- AggregateFilter ------------------------------------------------------------------

local AggregateFilter = element.define{
  name = "AggregateFilter", summary = "sends packets out by their aggregates",
  ports = "1/1-254", processing = "h/h", drops = {"no match"}, reads = {"AGGREGATE"},
  usage = "ACTION AGGREGATES, ... (ACTION is allow, deny, drop or an output)",
}

local ACTIONS = {allow = 1, drop = false, deny = false}

-- The output, from 1, that the word stands for, false for none; nil: nothing does.
local function action_of(word)
  if ACTIONS[word] ~= nil then return ACTIONS[word] end
  local port = word and arguments.types.int(word, {min = 0})
  return port and port + 1
end

-- The first and the last number of "7" or "7-9"; nil if it isn't that.
local function range_of(word)
  local number = arguments.types.unsigned(word, {})
  if number then return number, number end
  local first, last = word:match("^([^-]*)-([^-]*)$")
  first = first and arguments.types.unsigned(first, {})
  last = last and arguments.types.unsigned(last, {})
  if first and last then return first, last end
end

-- The output of the number; nil if no pattern has it. Single numbers are found in
-- `single`; one that is there comes before each range that has it.
local function output_of(self, number)
  local output = self.single[number]
  if output ~= nil then return output end
  for _, range in ipairs(self.ranges) do
    if number >= range.first and number <= range.last then return range.output end
  end
end

-- The first number from `first` to `last` that has an output already, and that.
local function taken(self, first, last)
  local found
  for _, range in ipairs(self.ranges) do
    local at = math.max(range.first, first)
    if at <= math.min(range.last, last) then found = math.min(found or at, at) end
  end
  if first == last and self.single[first] ~= nil then found = first end
  for number in pairs(first < last and self.single or {}) do
    if number >= first and number <= last then
      found = math.min(found or number, number)
    end
  end
  return found, found and output_of(self, found)
end

local function add(self, i, word, output)
  local first, last = range_of(word)
  if not first then
    return self:error("pattern %d: bad aggregate number '%s'", i, word)
  end
  local number, other = taken(self, first, last)
  if number and other ~= output then
    self:warning("pattern %d: aggregate %.0f already filtered to output %d", i, number,
      other and other - 1 or self.noutputs)
  end
  if first == last then
    if not number then self.single[first] = output end
  else
    table.insert(self.ranges, {first = first, last = last, output = output})
  end
end

local function add_pattern(self, i, text)
  local words = text_of.words(text)
  if #words == 0 then return self:error("empty pattern %d", i) end
  if self.default ~= nil then
    return self:warning("pattern %d matches no packets", i)
  end
  local output = action_of(words[1])
  if output == nil then
    return self:error("pattern %d: expected a port number", i)
  elseif #words == 1 then
    return self:error("pattern %d has no aggregates", i)
  elseif #words == 2 and (words[2] == "all" or words[2] == "-") then
    self.default = output
    return
  end
  for k = 2, #words do add(self, i, words[k], output) end
end

function AggregateFilter:configure_raw(list)
  self.single, self.ranges = {}, {}
  for i, text in ipairs(list) do add_pattern(self, i - 1, text) end
end

function AggregateFilter:process(p)
  local output = output_of(self, p.note32[AGGREGATE])
  if output == nil then output = self.default end
  if output and output <= self.noutputs then return p, output end
  return nil, 1
end

-- AggregateLength ------------------------------------------------------------------

local AggregateLength = element.define{
  name = "AggregateLength", summary = "sets the aggregate to the packet's length",
  division = "any",
  ports = "1/1-2", processing = "a/ah", drops = {"no IP header"},
  reads = {"EXTRA_LENGTH", "NETWORK_HEADER"},
  arguments = {{"IP", "bool", default = false, keyword = true}},
}

function AggregateLength:configure(a) self.ip = a.IP end

function AggregateLength:process(p)
  local length, at = p.length, p.note16[NETWORK]
  if self.ip then
    if at == 0 then
      if self.noutputs > 1 then return p, 2 end
      return nil, 1
    end
    length = length - (at - p.data_off)
  end
  p.note32[AGGREGATE] = length + p.note32[EXTRA_LENGTH]
  return p
end

-- AggregatePaint -------------------------------------------------------------------

local AggregatePaint = element.define{
  name = "AggregatePaint", summary = "sets the aggregate to the packet's paint",
  division = "any",
  arguments = {
    {"BITS", "unsigned", default = 8, min = 1, max = 8},
    {"INCREMENTAL", "bool", default = false, keyword = true},
  },
}

function AggregatePaint:configure(a)
  self.bits, self.mask, self.incremental = a.BITS, 2 ^ a.BITS - 1, a.INCREMENTAL
end

function AggregatePaint:process(p)
  local value = bit.band(p.note8[note.PAINT], self.mask)
  if self.incremental then
    value = bit.tobit(bit.lshift(p.note32[AGGREGATE], self.bits) + value)
  end
  p.note32[AGGREGATE] = value
  return p
end

return {AggregateFirst, AggregateFilter, AggregateLength, AggregatePaint}

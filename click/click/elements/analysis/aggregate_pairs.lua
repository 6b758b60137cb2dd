-- SPDX-License-Identifier: Apache-2.0
-- AggregateIPAddrPair numbers pairs of IP addresses, AggregateHash hashes flows, into
-- the aggregate annotation.

local balancer = require("click.flow.balancer")
local C = require("core.declare")("native/flow_ends.h")
local element = require("click.element")
local ffi = require("ffi")
local ip_header = require("click.net.ip_header")
local note = require("click.note")

local AGGREGATE, PAINT, TIMESTAMP = note.AGGREGATE, note.PAINT, note.TIMESTAMP
local words_t = ffi.typeof("uint32_t *")
local SOURCE, DESTINATION = 3, 4 -- words of the header

-- AggregateIPAddrPair ----------------------------------------------------------------

local AggregateIPAddrPair = element.define{
  name = "AggregateIPAddrPair", summary = "numbers pairs of IP addresses",
  ports = "1/1-2", processing = "a/ah", lengthens = 0, drops = {"no IPv4 header"},
  reads = {"NETWORK_HEADER", "TIMESTAMP"}, fills_cache = true,
  arguments = {
    {"TIMEOUT", "seconds", default = 0, keyword = true},
    {"REAP", "seconds", default = 20 * 60, keyword = true},
  },
  notes = [[
Packets of two addresses, either way, have one number as aggregate annotation, from 1
on. Their paint is 0 in the direction of the first of them, 1 in the other. A pair that
hasn't been seen for TIMEOUT seconds (0: never) by packets' timestamps gets a new
number; every REAP seconds such pairs are forgotten. What has no IPv4 header
leaves by output 1.]],
}

function AggregateIPAddrPair:configure(a)
  self.timeout, self.interval, self.next, self.due = a.TIMEOUT, a.REAP, 1, nil
  self.pairs = {} -- by the smaller address, then by the greater one
end

--- Call f(number) whenever the pair of that number is over.
function AggregateIPAddrPair:when_over(f)
  self.listeners = self.listeners or {}
  table.insert(self.listeners, f)
end

local function over(self, pair)
  for _, f in ipairs(rawget(self, "listeners") or {}) do f(pair.number) end
end

-- Forget the pairs that were last seen before that time, in seconds.
local function reap(self, time)
  for low, others in pairs(self.pairs) do
    for high, pair in pairs(others) do
      if pair.last < time then
        over(self, pair)
        others[high] = nil
      end
    end
    if not next(others) then self.pairs[low] = nil end
  end
end

AggregateIPAddrPair.handlers = {
  clear = element.command(function (self) reap(self, math.huge) end),
}

local function begin(self, pair, source)
  pair.number, pair.source = self.next, source
  self.next = self.next % (2 ^ 32 - 1) + 1
end

local function pair_of(self, source, destination)
  local low, high = math.min(source, destination), math.max(source, destination)
  local others = self.pairs[low]
  if not others then
    others = {}
    self.pairs[low] = others
  end
  local pair = others[high]
  if not pair then
    pair = {last = 0}
    begin(self, pair, source)
    others[high] = pair
  end
  return pair
end

-- The packet's time in seconds; it gets the time of now if it has none.
local function time_of(self, p)
  if p.note64[TIMESTAMP] == 0 then
    if not self.told then
      self:say("%s: warning: packet received without timestamp", self.name)
    end
    self.told, p.note64[TIMESTAMP] = true, self.router:nanoseconds()
  end
  return math.floor(note.time(p))
end

-- The pair ends if it has waited for too long; all that have are forgotten at times.
local function age(self, pair, source, time)
  if pair.last ~= 0 and pair.last < time - self.timeout then
    over(self, pair)
    begin(self, pair, source)
  end
  pair.last = time
  if not self.due then self.due = time + self.interval end
  if time > self.due then
    reap(self, time - self.timeout)
    self.due = time + self.interval
  end
end

function AggregateIPAddrPair:process(p)
  local ip = ip_header.begin(p)
  if not ip then
    if self.noutputs > 1 then return p, 2 end
    return nil, 1
  end
  local words = ffi.cast(words_t, ip)
  local source, destination = words[SOURCE], words[DESTINATION]
  local pair = pair_of(self, source, destination)
  if self.timeout > 0 then age(self, pair, source, time_of(self, p)) end
  p.note32[AGGREGATE] = pair.number
  p.note8[PAINT] = pair.source == source and 0 or 1
  return p
end

-- AggregateHash ----------------------------------------------------------------------

local AggregateHash = element.define{
  name = "AggregateHash", summary = "sets the aggregate to a hash of the flow",
  division = "any", lengthens = 0, reads = {"NETWORK_HEADER", "TRANSPORT_HEADER"},
  arguments = {{"BITS", "int", default = 8}},
  notes = "The hash is of addresses and ports, 32 bits, whatever BITS (1 to 8) says, "
    .. "as in FastClick; that of a packet without IPv4 header is 0.",
}

function AggregateHash:configure(a)
  if a.BITS < 1 or a.BITS > 8 then return self:error("bad number of bits") end
  self.ends = ffi.new("struct click_flow_ends")
end

function AggregateHash:process(p)
  C.pg_flow_ends(p, self.ends)
  p.note32[AGGREGATE] = balancer.flow_hash(self.ends)
  return p
end

return {AggregateIPAddrPair, AggregateHash}

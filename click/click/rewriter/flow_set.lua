-- SPDX-License-Identifier: Apache-2.0
-- The flows of rewriters that share a capacity. They are in C's memory
-- (native/flows.h), so that a million of them is nothing to Lua's garbage collector.

local bit = require("bit")
local ffi = require("ffi")

local C = require("core.declare")("native/flows.h")
local failure = require("core.failure")
local wire = require("click.net.wire")

local FlowSet = {}
FlowSet.__index = FlowSet

local MILLISECONDS = 1000 -- a second

local key_type = ffi.typeof("struct click_flow_key")
local deadlines = ffi.typeof("int64_t[3]")

--- A set without flows.
function FlowSet.new()
  local flows = C.pg_flows_new()
  if flows == nil then failure.raise("there is no memory for a table of flows") end
  return setmetatable({flows = ffi.gc(flows, C.pg_flows_free), users = {},
    rewriters = {}}, FlowSet)
end

--- A new kind of flows, rewritten as `how` (C.REWRITE_...) says, with times in seconds;
--- `counts` is an array of uint32_t for the flows of each input, which must stay. Its
--- number.
function FlowSet:kind(how, guarantee, timeouts, counts)
  local times = deadlines()
  for i = 1, 3 do times[i - 1] = (timeouts[i] or 0) * MILLISECONDS end
  self.users[#self.users + 1] = counts
  local kind = C.pg_flows_kind(self.flows, how, guarantee * MILLISECONDS, times, counts)
  if kind < 0 then failure.raise("there are too many rewriters with one capacity") end
  return kind
end

--- Milliseconds, as times of flows are counted.
function FlowSet.milliseconds(seconds) return seconds * MILLISECONDS end

function FlowSet:capacity() return self.flows.capacity end
function FlowSet:size() return self.flows.records.count end

-- What is the set's of `n`: copies of a router on several CPUs divide it.
local function share(self, n)
  local copies, copy = self.flows.copies, self.flows.copy
  if copies <= 1 then return n end
  return math.floor(n / copies) + (copy < n % copies and 1 or 0)
end

--- The set is that of one of several routers: {number = (from 0), of =}; nil: it isn't.
function FlowSet:divide(copy)
  local flows = self.flows
  if not copy or flows.copies > 0 then return end
  flows.copies, flows.copy = copy.of, copy.number
  flows.capacity = share(self, flows.capacity)
end

--- Hold so many flows at most.
function FlowSet:set_capacity(n, now)
  self.flows.capacity = share(self, n)
  self:reap(now, false)
end

--- Remove flows whose time is over, or all.
function FlowSet:reap(now, all) C.pg_flows_reap(self.flows, now, all) end

-- Keys ------------------------------------------------------------------------------

local swap16, swap32 = wire.swap16, wire.number_of

--- A key from addresses and ports in host order.
function FlowSet.key(source, sport, destination, dport)
  return key_type(swap32(source), swap32(destination), swap16(sport), swap16(dport))
end

--- The addresses and ports of a key, in host order.
function FlowSet.parts(key)
  return swap32(key.source), swap16(key.sport), swap32(key.destination),
    swap16(key.dport)
end

--- The key of replies to packets with that key.
function FlowSet.reversed(key)
  return key_type(key.destination, key.source, key.dport, key.sport)
end

--- What packets of the flow and direction `number` become.
function FlowSet:rewritten(number)
  local flow = self.flows.flow[bit.rshift(number, 1)]
  return FlowSet.reversed(flow.key[1 - number % 2])
end

-- Text ------------------------------------------------------------------------------

FlowSet.address_text = wire.ip_text
local address_text = FlowSet.address_text

local function quadruple(key)
  local source, sport, destination, dport = FlowSet.parts(key)
  return ("(%s, %d, %s, %d)"):format(address_text(source), sport,
    address_text(destination), dport)
end

-- How keys are shown, by how flows are rewritten.
local TEXTS = {
  [C.REWRITE_PORTS] = quadruple, [C.REWRITE_TCP] = quadruple,
  [C.REWRITE_ADDRESSES] = function (key)
    local source, _, destination = FlowSet.parts(key)
    return ("(%s, %s)"):format(address_text(source), address_text(destination))
  end,
  [C.REWRITE_PING] = function (key)
    local source, sport, destination = FlowSet.parts(key)
    return ("(%s, %s, %d)"):format(address_text(source), address_text(destination),
      sport)
  end,
}

-- A flow rewritten by one address: the source, or for replies the destination.
local function one_address(flow, reply)
  local own, other = FlowSet.parts(flow.key[reply]), flow.key[1 - reply]
  local _, _, rewritten = FlowSet.parts(other)
  return ("%s => %s"):format(address_text(own), address_text(rewritten))
end

local function arrow(self, flow, number, how)
  local reply = number % 2
  if how == C.REWRITE_SOURCE then return one_address(flow, reply) end
  local text = TEXTS[how]
  local line = text(flow.key[reply]) .. " => " .. text(self:rewritten(number))
  local delta = C.pg_flow_delta(self.flows, number)
  if delta == 0 then return line end
  return ("%s seq %+d"):format(line, delta)
end

local function line_of(self, index, reply, how, now)
  local flow, number = self.flows.flow[index], 2 * index + reply
  local expiry = tonumber(C.pg_flows_expiry(self.flows, index))
  return ("%s [%s%d %s%d] i%d exp%d"):format(arrow(self, flow, number, how),
    reply == 0 and "*" or "", flow.output[0], reply == 1 and "*" or "", flow.output[1],
    flow.input, math.floor((expiry + MILLISECONDS / 2 - now) / MILLISECONDS))
end

--- The mappings of a kind as text, a line each.
function FlowSet:table(kind, now)
  local lines, how = {}, self.flows.kind[kind].how
  for list = 0, C.FLOW_LISTS - 1 do
    local index = self.flows.kind[kind].list[list].oldest
    while index > 0 do
      lines[#lines + 1] = line_of(self, index, 0, how, now)
      lines[#lines + 1] = line_of(self, index, 1, how, now)
      index = self.flows.flow[index].age.newer
    end
  end
  lines[#lines + 1] = ""
  return table.concat(lines, "\n")
end

return FlowSet

-- SPDX-License-Identifier: Apache-2.0
-- Copies of a router between which flows move (--balance, or a DeviceBalancer): whether
-- they can, and what moves with them (core.cpus.balancer, click.flow.moving).

local balancer = require("core.cpus.balancer")
local log = require("core.lib.log")
local workers = require("core.cpus.workers")

local balanced = {}

-- The router's element that asks for it, if one does.
local function who_asks(router)
  for _, e in ipairs(router.elements) do
    if e.class.balances then return e end
  end
end

--- Do the router's elements, or the command line, ask for it?
function balanced.wanted(router)
  local e = who_asks(router)
  if e then
    balancer.want(e:period())
    balancer.use(e.cpus)
  end
  return balancer.wanted()
end

-- An element between whose packets others' would overtake, or nil.
local function keeps_packets(e)
  return e.class.keeps_packets
    or e.processing and e.processing.inputs:find("h") and e.processing.outputs:find("l")
end

--- Why flows can't move, a sentence, or nil: `list` is of copies.division, `meets` of
--- copies.problem, `shared` are the devices whose packets are handed out in software.
function balanced.problem(list, meets, shared)
  if meets ~= "nothing" and meets ~= "flow" then
    return "fragments, pings and ICMP errors have to meet their flows"
  end
  for _, entry in ipairs(list) do
    local e, kind = entry.element, entry.kind
    if kind ~= "any" and kind ~= "whole" and not (kind == "flow" and e.class.flow_moves)
    then
      return ("%s keeps state of flows that can't move"):format(entry.name)
    elseif kind == "any" and keeps_packets(e) then
      return ("%s keeps packets, which others of their flow could overtake")
        :format(entry.name)
    end
  end
  for _, device in ipairs(shared) do
    if device.receives then return nil end
  end
  return "devices have queues, to which their cards hand packets out"
end

--- Say for `perigee plan` whether flows move, or why not: a line.
function balanced.explain(why)
  return why and ("  flows stay on their CPUs: %s"):format(why)
    or "  flows move from the busiest CPU to the least busy one"
end

-- What a list of moves is from one copy to another: {[FROM] = {[TO] = buckets}}.
local function pairs_of(moves)
  local from = {}
  for _, move in ipairs(moves) do
    local to = from[move.from] or {}
    from[move.from] = to
    to[move.to] = to[move.to] or {}
    table.insert(to[move.to], move.bucket)
  end
  return from
end

--- Let flows move between the copies on the CPUs of the list; app_of(i) is the name of
--- the one on its CPU `i`.
function balanced.begin(cpus, app_of)
  local function call(copy, name, argument)
    argument.app = app_of(copy + 1)
    return workers.call(cpus[copy + 1], "apps.click.click", name, argument)
  end
  balancer.begin(cpus, function (moves)
    local n = 0
    for from, list in pairs(pairs_of(moves)) do
      for to, buckets in pairs(list) do
        local given = call(from, "give_flows", {buckets = buckets})
        n = n + call(to, "take_flows", {given = given}).n
      end
    end
    return n
  end, function ()
    for _, cpu in ipairs(cpus) do
      if workers.call(cpu, "net.keep.going_on", "is_at_work") then return true end
    end
    return false
  end)
end

--- Tell on stderr what has moved.
function balanced.tell()
  for _, line in ipairs(balancer.lines()) do log.info("%s", line) end
end

return balanced

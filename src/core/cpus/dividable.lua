-- SPDX-License-Identifier: Apache-2.0
-- How copies on several CPUs divide packets: a class of apps, or of Click's elements,
-- says in its field `division` which packets have to come to one copy of it, and in
-- `undivided`, a sentence, why there can't be copies. Pure.

local dividable = {}

-- `meets`: what handing packets out has to see to (core.cpus.distribute).
local KINDS = {
  any = {meets = "nothing", text = "any packet to any copy"},
  flow = {meets = "flow", rank = 1,
    text = "by flow: packets of two addresses and ports, both ways, to one copy"},
  answers = {meets = "flow", rank = 2, text = "by flow: packets of two addresses and "
    .. "ports to one copy, which changes them so that answers come to it, too"},
  within = {meets = "within", rank = 3},
  addresses = {meets = "addresses",
    text = "by addresses: all packets between two addresses, both ways, to one copy"},
  pairs = {meets = "addresses", text = "by addresses: all packets between two "
    .. "addresses to one copy, which changes them so that answers come to it, too"},
}
KINDS.whole = {meets = "nothing",
  text = "once, next to the copies, whose handlers it reads and writes together"}
KINDS.within.text = KINDS.answers.text .. "; pings by their identifier, ICMP errors "
  .. "by the packet that they quote"

--- The kind of division of an app's class with this argument: `division` may be a
--- function of it. Or nil, and why it can't be divided.
function dividable.of(class, arg)
  local kind = class.division
  if type(kind) == "function" then kind = kind(arg) end
  if KINDS[kind] then return kind end
  return nil, dividable.why_not(class)
end

--- Does the class let itself be copied?
function dividable.is(class) return KINDS[class.division] ~= nil end

--- Why it doesn't, a sentence without a full stop.
function dividable.why_not(class)
  return class.undivided
    or "its class doesn't say how copies of it could divide packets"
end

--- A kind in words: "any packet to any copy".
function dividable.text(kind) return KINDS[kind].text end

--- What handing packets out has to see to: "nothing", "flow", "within", "addresses".
function dividable.meets(kind) return KINDS[kind].meets end

local HANDING_OUT = {
  nothing = "any packet may come to any",
  flow = "each gets the packets of its flows, by addresses and ports",
  within = "each gets the packets of its flows, by addresses and ports, pings by their "
    .. "identifier and ICMP errors by the packet that they quote",
  addresses = "each gets all packets between the same two addresses",
}

--- What of dividable.meets() copies get, in words.
function dividable.handing_out(meets) return HANDING_OUT[meets] end

--- The kind that is enough for both, or nil: what comes by addresses alone meets flows,
--- but not the answers to what a copy has changed by ports.
function dividable.both(a, b)
  if a == "any" or a == "whole" or a == b then return b end
  if b == "any" or b == "whole" then return a end
  local rank_a, rank_b = KINDS[a].rank, KINDS[b].rank
  if rank_a and rank_b then return rank_a > rank_b and a or b end
  local by_ports = rank_a and a or rank_b and b
  if by_ports and by_ports ~= "flow" then return nil end
  return (a == "pairs" or b == "pairs") and "pairs" or "addresses"
end

--- Have answers to what copies have changed to come to them?
function dividable.has_answers(kind)
  return kind == "answers" or kind == "within" or kind == "pairs"
end

--- Lines for people: `list` has {name =, kind =} or {name =, why =}, and names of one
--- kind, or with the same reason, share a line.
function dividable.lines(list)
  local groups, order = {}, {}
  for _, entry in ipairs(list) do
    local text = entry.why and "not divided: " .. entry.why or KINDS[entry.kind].text
    if not groups[text] then groups[text], order[#order + 1] = {}, text end
    table.insert(groups[text], entry.name)
  end
  local lines = {}
  for i, text in ipairs(order) do
    lines[i] = ("  %s: %s"):format(text, table.concat(groups[text], ", "))
  end
  return lines
end

return dividable

-- SPDX-License-Identifier: Apache-2.0
-- What an output's path takes: FastClick's contexts. The path is followed to the first
-- element that says which packets are for it: a CTXDispatcher by its rules, others by
-- their class's `context`, {PROTOCOL, PATTERN} by input: "ip" and "arp" are found by
-- the EtherType (behind a CTXManager whose CONTEXT is ETHER), "tcp" and "udp" in the IP
-- header.

local context = {}

local ETHERNET, TYPE = 14, 12
local TYPES = {ip = "0800", arp = "0806"}
local PROTOCOL = 9 -- where it is in an IP header
local PROTOCOLS = {icmp = "01", tcp = "06", udp = "11"}

-- A Classifier's pattern for packets that begin `n` bytes later: nil if it looks at
-- bytes before.
local function shifted(pattern, n)
  if pattern == "-" then return "-" end
  local parts = {}
  for offset, rest in pattern:gmatch("(%d+)(%S+)") do
    if offset - n < 0 then return nil end
    parts[#parts + 1] = ("%d%s"):format(offset - n, rest)
  end
  return table.concat(parts, " ")
end

-- Both patterns' clauses.
local function both(a, b)
  if a == "-" or b == "-" then return a == "-" and b or a end
  return a .. " " .. b
end

-- By how many bytes packets are shorter behind the element; nil if that isn't known.
local function stripped(e)
  local by = e.class.lengthens
  if type(by) == "function" then by = by(e) end
  local parent = e.class.extends
  local named = parent and parent.name or e.class.name
  return (named == "Strip" or named == "Unstrip") and by and -by or 0
end

-- How many bytes are gone of the packet where the element takes it, and whether it
-- began with an Ethernet header at the flow manager.
local function front_of(router, e, seen)
  for _, far in ipairs(router:joined(e, false, 1)) do
    local before = far.element
    if not seen[before] then
      seen[before] = true
      if before.class.manages_flows then return 0, before.context == "ETHER" end
      local gone, ethernet = front_of(router, before, seen)
      if gone then return gone + stripped(before), ethernet end
    end
  end
end

-- What tells the protocol, `gone` bytes into the packet.
local function clause(protocol, gone, ethernet)
  local first = ethernet and ETHERNET or 0
  if TYPES[protocol] then
    return ethernet and shifted(("%d/%s"):format(TYPE, TYPES[protocol]), gone) or "-"
  end
  local pattern = ("%d/%s"):format(first + PROTOCOL, PROTOCOLS[protocol])
  return shifted(pattern, gone) or "-"
end

local behind

-- The rules of a dispatcher that lead somewhere.
local function add_rules(rules, gone_here, e, list)
  for i, pattern in ipairs(rules.patterns) do
    local output = rules.outputs[i]
    local moved = shifted(pattern, -gone_here)
    if output >= 0 and output < e.noutputs and moved then
      list[#list + 1] = {pattern = moved, dynamic = rules.dynamic[i] or false}
    end
  end
end

-- What the element's input takes, added to the list; `gone` as at the dispatcher asked
-- for, `here`: since then.
local function add(x, e, input, here, list)
  if x.seen[e] then return end
  x.seen[e] = true
  local own = e.class.context and e.class.context[input]
  if e.context_rules then
    add_rules(e.context_rules, here, e, list)
  elseif own then
    local pattern = clause(own[1], x.gone, x.ethernet)
    if own[2] then pattern = both(pattern, shifted(own[2], x.gone)) end
    local inner = own[1] == "ip" and behind(x, e, here) or {}
    for _, rule in ipairs(#inner > 0 and inner or {{pattern = "-", dynamic = false}}) do
      list[#list + 1] = {pattern = both(pattern, rule.pattern), dynamic = rule.dynamic}
    end
  elseif not e.class.manages_flows then
    for _, rule in ipairs(behind(x, e, here + stripped(e))) do
      list[#list + 1] = rule
    end
  end
end

-- What all outputs of the element lead to takes.
function behind(x, e, here, output)
  local list = {}
  for o = output or 1, output or e.noutputs do
    for _, far in ipairs(x.router:joined(e, true, o)) do
      add(x, far.element, far.port, here, list)
    end
  end
  return list
end

--- What the path from the element's output (from 1) takes: a list of {pattern =,
--- dynamic =}, patterns as Classifier's; empty if nothing there says.
function context.of(e, output)
  local router = e.router
  local gone, ethernet = front_of(router, e, {})
  return behind({router = router, seen = {[e] = true}, gone = gone or 0,
    ethernet = ethernet or false}, e, 0, output)
end

return context

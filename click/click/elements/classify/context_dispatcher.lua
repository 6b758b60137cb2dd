-- SPDX-License-Identifier: Apache-2.0
-- FlowContextDispatcher, which stands for context links (`a ~> b`): its rules say what
-- each output's path takes.

local context = require("click.flow.context")
local element = require("click.element")
local rules = require("click.classification.rules")

local FlowContextDispatcher = element.define{
  name = "FlowContextDispatcher", division = "any",
  summary = "sends packets where elements behind take them",
  signature = "- [OUTPUT or drop], ...",
  ports = "1/-", processing = "h/h", drops = {"no match"},
  phase = 120, -- those behind know their rules by then
  notes = [[
A context link, a ~> b, is one of these with the rule "-" for each link of the output.
Such a rule means what the path behind takes: the rules of the first CTXDispatcher
there, IPv4 for IPIn and ARPQuerier's first input, ARP queries for ARPResponder, ARP
answers for ARPQuerier's second input, TCP and UDP for IPIn with TCPIn or UDPIn behind
it. A path on which nothing says what it takes takes the rest. Rules whose fields are
all fixed come before those with fields of any value ("0/00/ff"); of equal ones the
first counts. a ~tcp> b has a TCPIn on the link, a ~/tcp> b a TCPOut.]],
  differs = "It classifies for itself.",
}

function FlowContextDispatcher:configure_raw(list)
  if #list == 0 and self.noutputs ~= 1 then
    return self:error("Invalid rule set. There is no rule and not a single output.")
  end
  self.own = {rules.read(self, #list > 0 and list or {"- 0"})}
end

-- Rules in the order in which they count: without dynamic fields, with some, the rest.
local function sorted(found)
  local function rank(rule)
    return rule.pattern == "-" and 3 or rule.dynamic and 2 or 1
  end
  table.sort(found, function (a, b)
    if rank(a) ~= rank(b) then return rank(a) < rank(b) end
    return a.index < b.index
  end)
  return found
end

local function resolve(self, patterns, outputs, dynamic)
  local found = {}
  local function add(pattern, is_dynamic, output)
    found[#found + 1] = {pattern = pattern, dynamic = is_dynamic, output = output,
      index = #found}
  end
  for i, pattern in ipairs(patterns) do
    local output = outputs[i]
    local behind = pattern == "-" and output >= 0 and output < self.noutputs
      and context.of(self, output + 1) or {}
    for _, rule in ipairs(behind) do add(rule.pattern, rule.dynamic, output) end
    if #behind == 0 then add(pattern, dynamic[i], output) end
  end
  return sorted(found)
end

function FlowContextDispatcher:initialize()
  if not self.own[1] then return end
  local patterns, outputs = {}, {}
  for i, rule in ipairs(resolve(self, unpack(self.own))) do
    patterns[i], outputs[i] = rule.pattern, rule.output
  end
  if patterns[#patterns] ~= "-" then
    patterns[#patterns + 1], outputs[#outputs + 1] = "-", rules.DROP
  end
  rules.install(self, patterns, outputs)
end

FlowContextDispatcher.process = rules.process

return {FlowContextDispatcher}

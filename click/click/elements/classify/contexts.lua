-- SPDX-License-Identifier: Apache-2.0
-- FastClick's elements that classify once for a whole path (MiddleClick, TON 2021).
-- Here each CTXDispatcher classifies where it stands, as a Classifier does, and fused
-- regions make that cheap; so CTXManager finds flows only where elements behind keep
-- something of them.

local bit = require("bit")

local element = require("click.element")
local manager = require("click.flow.manager")
local note = require("click.note")
local rules = require("click.classification.rules")
local state = require("click.flow.state")

-- CTXDispatcher ---------------------------------------------------------------------

local CTXDispatcher = element.define{
  name = "CTXDispatcher", division = "any",
  summary = "classifies packets by contents, outputs named by the rules",
  signature = "PATTERN [OUTPUT or drop], ...",
  ports = "1/-", processing = "h/h", drops = {"no match"},
  differs = "The first rule that matches counts; it classifies for itself.",
}

function CTXDispatcher:configure_raw(list)
  if #list == 0 and self.noutputs ~= 1 then
    return self:error("Invalid rule set. There is no rule and not a single output.")
  end
  local patterns, outputs, dynamic = rules.read(self, #list > 0 and list or {"- 0"})
  if not patterns then return end
  self.context_rules = {patterns = patterns, outputs = outputs, dynamic = dynamic}
  rules.install(self, patterns, outputs)
end

CTXDispatcher.process = rules.process

-- CTXManager ------------------------------------------------------------------------

local FLOWS, SECONDS = 2 ^ 20, 60
local NETWORK, FLOW_ID = note.NETWORK_HEADER, note.FLOW_ID
local ETHERNET, TYPE, IP_HEADER, NO_HEADER = 14, 12, 20, 1

local CTXManager = manager.define{
  name = "CTXManager", aliases = {"FlowClassifier"},
  summary = "finds packets' flows, for elements behind that keep something of them",
  notes = "Packets begin with an Ethernet header (CONTEXT ETHER), or with an IP header "
    .. "(NONE). Those that aren't IPv4 pass, and have no flow. Up to 1048576 flows are "
    .. "kept, for 60 seconds each. CTXDispatchers behind classify for themselves.",
  differs = "All arguments but CONTEXT change nothing. The leaves_ handlers count "
    .. "flows; there is no print_tree, as there is no tree.",
  arguments = {
    {"AGGCACHE", "bool", default = false}, {"RESERVE", "unsigned", default = 0},
    {"CACHESIZE", "unsigned", default = 4096, keyword = true},
    {"CACHERINGSIZE", "unsigned", keyword = true},
    {"BUILDER", "int", keyword = true}, {"AGGTRUST", "bool", keyword = true},
    {"VERBOSE", "int", keyword = true}, {"VERBOSE_FCB", "int", keyword = true},
    {"CONTEXT", "word", default = "ETHER", keyword = true},
    {"CLEAN_TIMER", "unsigned", keyword = true},
    {"EARLYDROP", "bool", keyword = true}, {"ORDERED", "bool", keyword = true},
    {"NOCUT", "bool", keyword = true}, {"OPTIMIZE", "bool", keyword = true},
    {"RELEASE", "bool", keyword = true},
  },
}

-- FastClick counts the leaves of its tree of flows.
for _, which in ipairs{"", "all_", "nondefault_"} do
  CTXManager.handlers["leaves_" .. which .. "count"] = CTXManager.handlers.count
end

function CTXManager:configure(a)
  if a.CONTEXT ~= "ETHER" and a.CONTEXT ~= "NONE" then
    return self:error("Invalid context %s !", a.CONTEXT)
  end
  self.context = a.CONTEXT
  manager.configure(self, {CAPACITY = FLOWS, TIMEOUT = SECONDS, VERBOSE = 0})
end

function CTXManager:initialize()
  local areas = state.lay_out(self, 0)
  if #areas > 0 then manager.initialize(self) end
end

-- Where the IPv4 header is of a packet that begins with an Ethernet header, or with it;
-- nil if there is none.
local function behind_ethernet(p)
  if p.length < ETHERNET + IP_HEADER or p.data[TYPE] ~= 8 or p.data[TYPE + 1] ~= 0 then
    return nil
  end
  return ETHERNET
end

local function at_front(p)
  return p.length >= IP_HEADER and bit.rshift(p.data[0], 4) == 4 and 0 or nil
end

function CTXManager:make_process()
  if not rawget(self, "native") then return function (_, p) return p end end
  local find = manager.make_process(self)
  local header_at = self.context == "ETHER" and behind_ethernet or at_front
  return function (_, p)
    local known = p.note16[NETWORK]
    local at = known == 0 and header_at(p)
    if at then p.note16[NETWORK] = p.data_off + at end
    local q, drop = find(nil, p)
    p.note16[NETWORK] = known
    if drop ~= NO_HEADER then return q, drop end
    p.note32[FLOW_ID] = 0
    return p
  end
end

--- Headers aren't noted ahead of it.
function CTXManager.outgrows_cache() return false end

return {CTXDispatcher, CTXManager}

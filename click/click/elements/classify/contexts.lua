-- SPDX-License-Identifier: Apache-2.0
-- FastClick's elements that classify once for a whole path (MiddleClick, TON 2021).
-- Here each CTXDispatcher classifies where it stands, as a Classifier does, and fused
-- regions make that cheap; so CTXManager finds flows only where elements behind keep
-- something of them.

local bytes = require("click.classification.bytes")
local element = require("click.element")
local manager = require("click.flow.manager")
local note = require("click.note")
local run = require("click.classification.run")
local state = require("click.flow.state")

-- Patterns --------------------------------------------------------------------------

local PROTOCOLS = {icmp = 1, tcp = 6, udp = 17}
local ADDRESSES = {src = 12, dst = 16} -- offsets in an IP header
local PORTS = {src = 20, dst = 22}     -- and behind one without options

local function protocol(name)
  local number = PROTOCOLS[name:lower()] or tonumber(name)
  return number and number < 256 and ("9/%02x"):format(number) or nil
end

local function host(direction, text)
  local a, b, c, d = text:match("^(%d+)%.(%d+)%.(%d+)%.(%d+)$")
  if not a or math.max(a, b, c, d) > 255 then return nil end
  return ("%d/%02x%02x%02x%02x"):format(ADDRESSES[direction], a, b, c, d)
end

local function port(direction, text)
  local number = tonumber(text)
  return number and number < 65536 and ("%d/%04x"):format(PORTS[direction], number)
    or nil
end

-- What begins clauses of several words: {words behind it, function of them}.
local function phrase(words, i)
  local a, b = words[i]:lower(), (words[i + 1] or ""):lower()
  local value = words[i + 2] or ""
  if a == "ip" and b == "proto" then return protocol(value), 3 end
  if ADDRESSES[a] and b == "host" then return host(a, value), 3 end
  if ADDRESSES[a] and b == "port" then return port(a, value), 3 end
end

-- Have two numbers in hexadecimal no bit in common?
local function are_apart(a, b)
  a, b = a:reverse(), b:reverse()
  for i = 1, math.min(#a, #b) do
    if bit.band(tonumber(a:sub(i, i), 16), tonumber(b:sub(i, i), 16)) ~= 0 then
      return false
    end
  end
  return true
end

-- Clauses that only say by what flows are told apart: any value will do. ("10/0/ffff":
-- the value has none of the mask's bits.)
local function is_dynamic(word)
  local value, mask = word:match("^%d+/(%x+)/(%x+)$")
  return word == "agg" or word == "thread" or word:find("^%d+/%-?$")
    or word:find("^%d+/%-/%x*$") or value and are_apart(value, mask)
end

-- A word in Classifier's terms ("16/8ba5/ffff!" is "16/8ba5%ffff"), "" for none; or
-- nil.
local function clause(word)
  word = word:gsub("!$", ""):gsub(":HASH%-%d+$", ""):gsub(":ARRAY$", "")
  if is_dynamic(word:lower()) then return "" end
  local offset, value, mask = word:match("^(%d+)/(%x+)/?(%x*)$")
  if not offset then return nil end
  return offset .. "/" .. value .. (mask ~= "" and "%" .. mask or "")
end

-- The clauses of a rule as a Classifier's pattern; or nil.
local function pattern_of(text)
  if text == "-" then return "-" end
  local words, parts, i = {}, {}, 1
  for word in text:gsub("&&", " "):gmatch("%S+") do words[#words + 1] = word end
  while words[i] do
    local part, n = phrase(words, i)
    if not n then part, n = clause(words[i]), 1 end
    if not part then return nil end
    if part ~= "" then parts[#parts + 1] = part end
    i = i + n
  end
  if #words == 0 then return nil end
  return #parts > 0 and table.concat(parts, " ") or "-"
end

local DROP = -1

-- The rule's text, and the output behind it, if there is one.
local function split(text)
  local front, last = text:match("^(.-)%s+(%w+)$")
  if last and last:lower() == "drop" then return front, DROP end
  if last and last:find("^%d+$") and not front:find("%f[%w]port$")
    and not front:find("%f[%w]proto$") then
    return front:gsub("%s+keep$", ""), tonumber(last)
  end
  return (text:gsub("%s+keep$", ""))
end

-- CTXDispatcher ---------------------------------------------------------------------

local CTXDispatcher = element.define{
  name = "CTXDispatcher", aliases = {"FlowContextDispatcher"},
  division = "any",
  summary = "classifies packets by contents, outputs named by the rules",
  signature = "PATTERN [OUTPUT or drop], ...",
  ports = "1/-", processing = "h/h", drops = {"no match"},
  differs = "The first rule that matches counts; it classifies for itself.",
}

-- Patterns, and the output (from 0) of each, as FastClick numbers those left out.
local function read_rules(self, list)
  local patterns, outputs, last = {}, {}, -1
  for i, text in ipairs(list) do
    local rule, output = split(text)
    patterns[i] = pattern_of(rule)
    if not patterns[i] then
      self:error("argument %d is not a valid defined subflow (%s)", i, text)
      return nil
    end
    if not output then
      last = last + 1
      output = last < self.noutputs and last
        or patterns[i] == "-" and DROP or self.noutputs - 1
    else
      last = math.max(last, output)
    end
    outputs[i] = output
  end
  if patterns[#patterns] ~= "-" then
    patterns[#patterns + 1] = "-"
    outputs[#patterns] = last < self.noutputs - 1 and self.noutputs - 1 or DROP
  end
  return patterns, outputs
end

function CTXDispatcher:configure_raw(list)
  if #list == 0 and self.noutputs ~= 1 then
    return self:error("Invalid rule set. There is no rule and not a single output.")
  end
  local patterns, outputs = read_rules(self, #list > 0 and list or {"- 0"})
  if not patterns then return end
  local failed = false
  local program, questions = bytes.program(patterns, {error = function (_, ...)
    failed = true
    self:error(...)
  end})
  if failed then return end
  self.rule_outputs = outputs
  self.choose, self.kept = run.process(program, questions, false)
end

function CTXDispatcher:process(p)
  local q, rule = self.choose(self, p)
  if q == nil then return nil, 1 end
  local output = self.rule_outputs[rule]
  if output < 0 or output >= self.noutputs then return nil, 1 end
  return p, output + 1
end

-- CTXManager ------------------------------------------------------------------------

local FLOWS, SECONDS = 2 ^ 20, 60
local NETWORK, FLOW_ID = note.NETWORK_HEADER, note.FLOW_ID
local ETHERNET, TYPE, IP_HEADER, NO_HEADER = 14, 12, 20, 1

local CTXManager = manager.define{
  name = "CTXManager", aliases = {"FlowClassifier"},
  summary = "finds packets' flows, for elements behind that keep something of them",
  notes = "Packets may begin with an Ethernet header; those that aren't IPv4 pass, and "
    .. "have no flow. Up to 1048576 flows are kept, for 60 seconds each. "
    .. "CTXDispatchers behind classify for themselves.",
  differs = "All arguments but CONTEXT change nothing.",
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

function CTXManager:configure(a)
  if a.CONTEXT ~= "ETHER" and a.CONTEXT ~= "NONE" then
    return self:error("Invalid context %s !", a.CONTEXT)
  end
  manager.configure(self, {CAPACITY = FLOWS, TIMEOUT = SECONDS, VERBOSE = 0})
end

function CTXManager:initialize()
  local areas = state.lay_out(self, 0)
  if #areas > 0 then manager.initialize(self) end
end

-- Is it IPv4 behind an Ethernet header?
local function is_ip(p)
  return p.length >= ETHERNET + IP_HEADER and p.data[TYPE] == 8
    and p.data[TYPE + 1] == 0
end

function CTXManager:make_process()
  if not rawget(self, "native") then return function (_, p) return p end end
  local find = manager.make_process(self)
  return function (_, p)
    local known = p.note16[NETWORK]
    if known == 0 and is_ip(p) then p.note16[NETWORK] = p.data_off + ETHERNET end
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

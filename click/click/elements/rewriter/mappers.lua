-- SPDX-License-Identifier: Apache-2.0
-- Elements without ports that choose for rewriters how new flows are mapped. A mapper
-- has map_flow(key, flows, kind), as click.rewriter.inputs.map, and
-- check_rewriter(rewriter, input), which says what doesn't fit.

local arguments = require("click.arguments")
local element = require("click.element")
local HashRing = require("click.rewriter.hash_ring")
local inputs = require("click.rewriter.inputs")
local names = require("click.names")
local Pattern = require("click.rewriter.pattern")
local text_of = require("click.language.text")

local PATTERNS, MAPPERS = 20, 99 -- when they are configured; rewriters are at 100

-- IPRewriterPatterns ----------------------------------------------------------------

local IPRewriterPatterns = element.define{
  name = "IPRewriterPatterns", summary = "specifies patterns that rewriters share",
  ports = "0/0", phase = PATTERNS, division = "any",
}

function IPRewriterPatterns:configure_raw(list)
  for _, text in ipairs(list) do
    local words = text_of.words(text)
    local name = table.remove(words, 1)
    if name and names.find("rewriter_pattern", self, name) then
      self:error("pattern '%s' already defined", name)
    elseif name then
      local pattern, problem = Pattern.parse(words, self)
      if pattern then
        self.router.names:define("rewriter_pattern", self.name, name, pattern)
      else
        self:error("%s", problem)
      end
    end
  end
end

-- Mappers of a list of patterns -----------------------------------------------------

local Mapper = {}

-- Take a pattern and outputs from the words.
function Mapper:add(words)
  local spec, problem = inputs.pattern(words, self)
  if not spec then return self:error("%s", problem) end
  self.specs[#self.specs + 1] = spec
  return true
end

function Mapper:check_rewriter(rewriter, input)
  for i, spec in ipairs(self.specs) do
    if spec.forward >= rewriter.noutputs or spec.reply >= rewriter.noutputs then
      rewriter:error("input spec %d: output port out of range in %s :: %s pattern %d",
        input, self.name, self.class.name, i - 1)
    end
  end
end

local function define(class)
  class.division = "any" -- a rewriter says whether its patterns can be divided
  for name, method in pairs(Mapper) do class[name] = method end
  class.ports, class.phase = "0/0", MAPPERS
  return element.define(class)
end

local function map_by(spec, key, flows, kind)
  local new = spec.pattern:rewrite(key, flows, kind)
  if new then return new, spec.forward, spec.reply end
end

local RoundRobinIPMapper = define{
  name = "RoundRobinIPMapper", summary = "maps new flows by patterns in turn",
}

function RoundRobinIPMapper:configure_raw(list)
  if #list == 0 then return self:error("no patterns given") end
  if #list == 1 then self:warning("only one pattern given") end
  self.specs, self.at = {}, 1
  for _, text in ipairs(list) do self:add(text_of.words(text)) end
end

function RoundRobinIPMapper:map_flow(key, flows, kind)
  for _ = 1, #self.specs do
    local spec = self.specs[self.at]
    self.at = self.at % #self.specs + 1
    local new, forward, reply = map_by(spec, key, flows, kind)
    if new then return new, forward, reply end
  end
end

-- Threads have a pattern each, and so have copies of a router on several CPUs.
local ThreadIPMapper = define{
  name = "ThreadIPMapper", summary = "maps new flows by the pattern of the thread",
}

function ThreadIPMapper:configure_raw(list)
  if #list == 0 then return self:error("no patterns given") end
  self.specs = {}
  for _, text in ipairs(list) do self:add(text_of.words(text)) end
end

function ThreadIPMapper:map_flow(key, flows, kind, thread)
  return map_by(self.specs[thread % #self.specs + 1], key, flows, kind)
end

-- SourceIPHashMapper ----------------------------------------------------------------

local SourceIPHashMapper = define{
  name = "SourceIPHashMapper",
  summary = "maps new flows by their source address, the same as long as it can",
}

local function ring_numbers(self, text)
  local words = text_of.words(text)
  if #words ~= 2 then
    return self:error("requires 2 config params: numnodes seed")
  end
  local nodes = arguments.types.int(words[1], {min = 1, max = 10000})
  local seed = arguments.types.int(words[2], {})
  if not nodes then return self:error("number of nodes must be an integer") end
  if not seed then return self:error("hash seed must be an integer") end
  return nodes, seed
end

function SourceIPHashMapper:configure_raw(list)
  if #list == 0 then return self:error("no hash seed given") end
  if #list == 1 then return self:error("no patterns given") end
  if #list == 2 then self:warning("only one pattern given") end
  local nodes, seed = ring_numbers(self, list[1])
  if not nodes then return end
  local ids = {}
  self.specs = {}
  for i = 2, #list do
    local words = text_of.words(list[i])
    local id = arguments.types.int(table.remove(words) or "", {min = 0})
    if not id or #words == 0 then
      self:error("bad server ID in pattern spec")
    elseif self:add(words) then
      ids[#ids + 1] = id
    end
  end
  if #ids > 0 then self.ring = HashRing.new(nodes, seed, ids) end
end

function SourceIPHashMapper:map_flow(key, flows, kind)
  return map_by(self.specs[self.ring:find(key.source)], key, flows, kind)
end

return {IPRewriterPatterns, RoundRobinIPMapper, ThreadIPMapper, SourceIPHashMapper}

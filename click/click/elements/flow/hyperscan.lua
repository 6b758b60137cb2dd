-- SPDX-License-Identifier: Apache-2.0
-- FlowHyperScan looks for patterns in what each flow's packets hold, one behind the
-- other: a match may begin in one packet and end in another.

local ffi = require("ffi")

local arguments = require("click.arguments")
local element = require("click.element")
local files = require("core.lib.files")
local patterns = require("click.classification.patterns")
local state = require("click.flow.state")
local text_of = require("click.language.text")

local NO_FLOW, MATCH, NO_MEMORY = 1, 2, 3
-- Hyperscan's flags by the letters that FastClick has for them.
local FLAGS = {i = 1, s = 2, m = 4, H = 8, V = 16, ["8"] = 32, W = 64}
local area_type = ffi.typeof("struct { void *stream; uint32_t found, unused; }")

local FlowHyperScan = element.define{
  name = "FlowHyperScan", division = "flow", summary = "looks for expressions in flows",
  processing = "h/h", flow_state = area_type, lengthens = 0, reads = {"FLOW_ID"},
  fills_cache = true, drops = {"no flow", "match", "no memory"},
  usage = "EXPRESSION, ... [, keywords]",
  keywords = {
    {"PAYLOAD_ONLY", "bool", default = false, keyword = true,
      meaning = "changes nothing, as in FastClick"},
    {"VERBOSE", "bool", default = false, keyword = true,
      meaning = "say MATCHED for each packet in which a match ends"},
    {"FLAGS", "word", default = "", keyword = true,
      meaning = "letters: i (either case), s (. is any byte), m (lines), H (each "
        .. "expression once a flow), V (may be empty), 8 (UTF-8), W (Unicode)"},
    {"FILE", "filename", keyword = true, meaning = "a file with an expression a line"},
    {"KILL", "bool", default = false, keyword = true,
      meaning = "drop the packet in which a match ends, and the flow's later ones"},
  },
  notes = "Whole packets are searched, from where their data begin: put "
    .. "StripTransportHeader in front to have payloads searched alone. A flow takes "
    .. "memory of Hyperscan's until it ends.",
  differs = "It takes the library Hyperscan (Debian: libhyperscan5). Expressions are "
    .. "Hyperscan's. KILL drops flows that match (FastClick's drops all). The handler "
    .. "`matches` counts packets in which one ended.",
  handlers = {matches = element.data("matches")},
}

-- Hyperscan's flags, or nil after an error.
local function read_flags(self, letters)
  local sum, seen = 0, {}
  for letter in letters:gmatch(".") do
    if not FLAGS[letter] then return self:error("Unsupported flag %s", letter) end
    if not seen[letter] then sum = sum + FLAGS[letter] end
    seen[letter] = true
  end
  return sum
end

function FlowHyperScan:configure_raw(list)
  local reader, a = arguments.reader(list, self), {}
  for _, spec in ipairs(self.keywords) do a[spec[1]] = reader:read(spec) end
  local rest = reader:rest()
  if not reader:complete() then return end
  local flags = read_flags(self, a.FLAGS)
  if not flags then return end
  local texts = {}
  if a.FILE then
    local lines, why = files.lines(a.FILE)
    if not lines then return self:error("FILE: %s", why) end
    for _, line in ipairs(lines) do
      if line ~= "" then texts[#texts + 1] = line end
    end
    if #texts + #rest == 0 then
      return self:error("FILE: '%s' has no expressions", a.FILE)
    end
  end
  for _, text in ipairs(rest) do texts[#texts + 1] = text_of.unquote(text) end
  if #texts == 0 then return self:error("no patterns") end
  local made, problem, number = patterns.new(texts, false, flags)
  if not made then
    local where = number and ("pattern %d, '%s': "):format(number, texts[number])
    return self:error("%s%s", where or "", problem)
  end
  self.patterns, self.verbose, self.kills, self.matches = made, a.VERBOSE, a.KILL, 0
end

function FlowHyperScan:initialize() self.area_of = state.of(self) end

function FlowHyperScan:process(p)
  local area = self.area_of(p)
  if not area then return nil, NO_FLOW end
  if area.found ~= 0 and self.kills then return nil, MATCH end
  if area.stream == nil then
    area.stream = self.patterns:open_stream()
    if area.stream == nil then return nil, NO_MEMORY end
  end
  if p.length == 0 then return p end
  if self.patterns:continue(area.stream, p.data, p.length) == 0 then return p end
  self.matches = self.matches + 1
  if self.verbose then self:say("MATCHED") end
  area.found = 1
  if self.kills then return nil, MATCH end
  return p
end

--- A flow's stream is given back.
function FlowHyperScan:flow_ended(area)
  if area.stream == nil then return end
  self.patterns:close_stream(area.stream)
  area.stream = nil
end

FlowHyperScan.cleanup = state.end_all

return {FlowHyperScan}

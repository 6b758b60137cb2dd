-- SPDX-License-Identifier: Apache-2.0
-- FastClick's elements for intrusion detection: packets with one of many strings, or
-- with what a regular expression describes.

local arguments = require("click.arguments")
local configure = require("click.router.configure")
local element = require("click.element")
local note = require("click.note")
local patterns = require("click.classification.patterns")
local text_of = require("click.language.text")

local LIBRARY = "It takes the library Hyperscan (Debian: libhyperscan5)."
local EXPRESSIONS = LIBRARY .. " Expressions are Hyperscan's: much as RE2's, of bytes."

-- Let the element look for the patterns, whose texts may be quoted. True, or nil after
-- an error: then it is as before.
local function install(self, list, literal)
  if #list == 0 then return self:error("no patterns") end
  local texts = {}
  for i, text in ipairs(list) do texts[i] = text_of.unquote(text) end
  local made, problem, number = patterns.new(texts, literal)
  if not made then
    local where = number and ("pattern %d, '%s': "):format(number, list[number])
    return self:error("%s%s", where or "", problem)
  end
  self.patterns = made
  return true
end

-- Matchers --------------------------------------------------------------------------

local StringMatcher = element.define{
  name = "StringMatcher", summary = "selects packets that contain one of some strings",
  ports = "1/1-2", processing = "a/ah", drops = {"match"}, live = true, reads = {},
  lengthens = 0, fills_cache = true, usage = "STRING, ...", differs = LIBRARY,
  handlers = {
    matches = element.data("matches"),
    reset_count = element.command(function (self) self.matches = 0 end),
  },
}

function StringMatcher:configure_raw(list)
  self.matches = self.matches or 0
  install(self, list, true)
end

function StringMatcher:process(p)
  if not self.patterns:any(p.data, p.length) then return p end
  self.matches = self.matches + 1
  if self.noutputs == 2 then return p, 2 end
  return nil, 1
end

function StringMatcher:take_state(old) self.matches = old.matches end

-- Where FastClick begins to look in a packet, and how many bytes it looks at; with
-- PAYLOAD_ONLY from the transport header on, if that is noted, or the network header.
local function span(self, p)
  if not self.payload_only then return p.data, p.length end
  local notes = p.note16
  local at = notes[note.TRANSPORT_HEADER]
  if at == 0 then at = notes[note.NETWORK_HEADER] end
  local ends = p.data_off + p.length
  if at == 0 or at > ends then return p.data, p.length end
  return p.buf_addr + at, ends - at
end

local RegexMatcher = element.define{
  name = "RegexMatcher", summary = "selects packets that match expressions",
  ports = "1/1-2", processing = "h/h", drops = {"no match"}, live = true,
  reads = {"NETWORK_HEADER", "TRANSPORT_HEADER"}, lengthens = 0, fills_cache = true,
  usage = "EXPRESSION, ... [, keywords]", differs = EXPRESSIONS,
  keywords = {
    {"PAYLOAD_ONLY", "bool", default = false, keyword = true,
      meaning = "search behind the transport header"},
    {"MATCH_ALL", "bool", default = false, keyword = true,
      meaning = "all expressions must be found"},
  },
  handlers = {
    payload_only = element.data("payload_only", "bool"),
    match_all = element.data("match_all", "bool"),
  },
}

function RegexMatcher:configure_raw(list)
  local reader = arguments.reader(list, self)
  local payload_only, match_all = reader:read(self.keywords[1]),
    reader:read(self.keywords[2])
  local rest = reader:rest()
  if not (reader:complete() and install(self, rest, false)) then return end
  self.payload_only, self.match_all = payload_only, match_all
  configure.add_patterns(self, #rest)
end

function RegexMatcher:process(p)
  local data, n = span(self, p)
  local found
  if self.match_all then
    found = self.patterns:all(data, n)
  else
    found = self.patterns:any(data, n)
  end
  if found then return p end
  if self.noutputs == 2 then return p, 2 end
  return nil, 1
end

-- Classifiers -----------------------------------------------------------------------

local function classifier(name, literal, summary)
  local class = element.define{
    name = name, summary = summary, ports = "1/-", processing = "h/h",
    drops = {"no match"}, live = true, reads = {}, lengthens = 0, fills_cache = true,
    usage = (literal and "STRING" or "EXPRESSION") .. ", ... (one for each output)",
    differs = literal and LIBRARY or EXPRESSIONS,
  }
  function class:configure_raw(list)
    if #list ~= self.noutputs then
      return self:error("need %d arguments, one per output port", self.noutputs)
    end
    install(self, list, literal)
    configure.add_patterns(self, #list)
  end
  function class:process(p)
    local o = self.patterns:first(p.data, p.length)
    if o == 0 then return nil, 1 end
    return p, o
  end
  return class
end

return {StringMatcher, RegexMatcher,
  classifier("StringClassifier", true, "classifies packets by strings in them"),
  classifier("RegexClassifier", false, "classifies packets by regular expressions")}

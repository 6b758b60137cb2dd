-- SPDX-License-Identifier: Apache-2.0
-- Elements that send packets out by patterns: of bytes, or of IP headers.

local arguments = require("click.arguments")
local bytes = require("click.classification.bytes")
local configure = require("click.router.configure")
local element = require("click.element")
local filter = require("click.classification.ip.filter")
local packed = require("click.classification.packed")
local run = require("click.classification.run")

-- Counts the errors that the element reports while f() runs.
local function errors_in(self, f)
  local count = 0
  self.error = function (_, ...)
    count = count + 1
    element.Base.error(self, ...)
  end
  f()
  self.error = nil
  return count
end

-- Is there a pattern for each output?
local function check_count(self, list)
  if #list == self.noutputs then return true end
  self:error("need %d arguments, one per output port", self.noutputs)
  return false
end

-- Run the program that make() returns, unless it reports errors. `warn`: say so if an
-- output gets no packet.
local function install(self, make, by_header, warn)
  local program, questions
  local count = errors_in(self, function () program, questions = make() end)
  if count > 0 then return end
  for _, output in ipairs(warn and program:unused_outputs(self.noutputs) or {}) do
    self:warning("output %d matches no packets", output)
  end
  self.choose, self.kept = run.process(program, questions, by_header)
  self.text = by_header and packed.text(program, questions) or program:text()
end

-- Classifier ------------------------------------------------------------------------

local Classifier = element.define{
  name = "Classifier", summary = "classifies packets by contents",
  division = "any",
  ports = "1/-", processing = "h/h", drops = {"no match"}, live = true, reads = {},
  handlers = {program = element.data("text")}, lengthens = 0,
}

function Classifier:configure_raw(list)
  if not check_count(self, list) then return end
  install(self, function () return bytes.program(list, self) end, false, true)
end

function Classifier:process(p)
  local q, o = self.choose(self, p)
  return q, o
end

function Classifier:make_process()
  local choose = self.choose
  return function (_, p)
    local q, o = choose(nil, p) -- (LuaJIT would load a table that is passed on)
    return q, o
  end
end

-- IPFilter ---------------------------------------------------------------------------

local NOT_CACHING = -1
local HEADERS = {"MAC_HEADER", "NETWORK_HEADER", "TRANSPORT_HEADER"}

local function cache_handler()
  return {join = "first", read = function () return NOT_CACHING end}
end

-- CACHING is accepted, and changes nothing: what it would save isn't spent.
local IPFilter = element.define{
  name = "IPFilter", summary = "filters IP packets by contents",
  division = "any",
  ports = "1/-", processing = "h/h", drops = {"no match"}, live = true,
  reads = HEADERS, lengthens = 0,
  handlers = {
    program = element.data("text"),
    cache_hits_count = cache_handler(), cache_misses_count = cache_handler(),
    cache_total_count = cache_handler(), cache_hits_ratio = cache_handler(),
    cache_misses_ratio = cache_handler(),
  },
}
IPFilter.keywords = {{"CACHING", "bool", default = false, keyword = true,
  meaning = "changes nothing here"}}
IPFilter.process, IPFilter.make_process = Classifier.process, Classifier.make_process

function IPFilter:configure_raw(list)
  local reader = arguments.reader(list, self)
  for _, spec in ipairs(self.keywords) do reader:read(spec) end
  local rules = reader:rest()
  if not reader:complete() then return end
  install(self, function () return filter.program(rules, self.noutputs, self) end, true)
end

-- IPClassifier ----------------------------------------------------------------------

local IPClassifier = element.define{
  name = "IPClassifier", summary = "classifies IP packets by contents",
  division = "any",
  ports = "1/-", processing = "h/h", drops = {"no match"}, live = true,
  reads = HEADERS, lengthens = 0, handlers = IPFilter.handlers,
}
IPClassifier.process = Classifier.process
IPClassifier.make_process = Classifier.make_process

function IPClassifier:configure_raw(list)
  if not check_count(self, list) then return end
  local rules = {}
  for i, text in ipairs(list) do rules[i] = ("%d %s"):format(i - 1, text) end
  install(self, function () return filter.program(rules, self.noutputs, self) end, true,
    true)
  configure.add_patterns(self, self.noutputs)
end

return {Classifier, IPFilter, IPClassifier}

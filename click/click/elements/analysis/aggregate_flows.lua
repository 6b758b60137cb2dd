-- SPDX-License-Identifier: Apache-2.0
-- AggregateIPFlows numbers the flows of TCP and UDP packets.

local element = require("click.element")
local Flows = require("click.summary.flows")
local note = require("click.note")
local text_file = require("click.devices.text_file")

local function seconds(name, default)
  return {name, "seconds", default = default, keyword = true}
end

local AggregateIPFlows = element.define{
  name = "AggregateIPFlows", summary = "sets aggregate annotation based on flow",
  ports = "1/1-2", processing = "a/ah",
  exclusive = true, drops = {"no flow"}, emits = true,
  arguments = {
    seconds("TCP_TIMEOUT", 24 * 60 * 60), seconds("TCP_DONE_TIMEOUT", 30),
    seconds("UDP_TIMEOUT", 60), seconds("FRAGMENT_TIMEOUT", 30),
    seconds("REAP", 20 * 60),
    {"ICMP", "bool", default = false, keyword = true},
    {"TRACEINFO", "filename", keyword = true},
    {"SOURCE", "element", keyword = true},
    {"FRAGMENTS", "bool", keyword = true},
    {"SYMETRIC", "bool", default = true, keyword = true},
  },
  handlers = {
    clear = element.command(function (self) self.flows:reap(math.huge) end),
    next = {read = function (self) return self.flows.next end},
  },
}

function AggregateIPFlows:configure(a)
  local pulling = self.processing.inputs == "l"
  if a.FRAGMENTS and pulling then
    return self:error("'FRAGMENTS true' is incompatible with pull; run this element in "
      .. "a push context")
  end
  if a.FRAGMENTS == nil then a.FRAGMENTS = not pulling end
  self.values = a
end

-- Where the file of flows goes.
local function open(self, name)
  if name == "-" then
    return {write = function (_, text) self.router:print(text) end}
  end
  local file, problem = text_file.open(self, name)
  if not file then return self:error("%s", problem) end
  self.file = file
  return file
end

function AggregateIPFlows:initialize()
  local a, trace = self.values, nil
  if a.TRACEINFO then
    trace = open(self, a.TRACEINFO)
    if not trace then return end
    trace:write("<?xml version='1.0' standalone='yes'?>\n<trace>\n")
  end
  self.flows = Flows.new(a, {
    trace = trace,
    over = function (number) self:tell_over(number) end,
    send = function (p) self.emit(1, p) end,
  })
end

--- Call f(number) whenever the flow of that number is over.
function AggregateIPFlows:when_over(f)
  self.listeners = self.listeners or {}
  table.insert(self.listeners, f)
end

function AggregateIPFlows:tell_over(number)
  for _, f in ipairs(self.listeners or {}) do f(number) end
end

function AggregateIPFlows:process(p)
  if p.note64[note.TIMESTAMP] == 0 then
    if not self.warned then
      self:say("%s: warning: packet received without timestamp", self.name)
      self.warned = true
    end
    p.note64[note.TIMESTAMP] = self.router:nanoseconds()
  end
  local fate = self.flows:handle(p)
  self.flows:reap_if_due()
  if fate == "send" then return p end
  if fate == "keep" then return false end
  if self.noutputs > 1 then return p, 2 end
  return nil, 1
end

function AggregateIPFlows:cleanup()
  if not self.flows then return end
  self.flows:close()
  if self.file then self.file:close() end
  self.flows = nil
end

return {AggregateIPFlows}

-- SPDX-License-Identifier: Apache-2.0
-- Block and CompareBlock send packets out by the rates that IPRateMonitor has noted.

local element = require("click.element")
local note = require("click.note")

local FORWARD, REVERSE = note.FWD_RATE, note.REV_RATE

local Block = element.define{
  name = "Block", summary = "sends packets out by the rate noted of them",
  ports = "1/2", processing = "h/h", reads = {"FWD_RATE"}, lengthens = 0,
  division = "any", live = true,
  arguments = {{"THRESH", "int", required = true}},
  handlers = {thresh = element.data("threshold", "int")},
  notes = "Packets whose forward rate (IPRateMonitor) is above THRESH leave by output "
    .. "1, others by output 0; all of them if THRESH is 0.",
}

function Block:configure(a) self.threshold = a.THRESH end

function Block:process(p)
  if self.threshold == 0 or p.note32[FORWARD] <= self.threshold then return p end
  return p, 2
end

local CompareBlock = element.define{
  name = "CompareBlock", summary = "sends packets out by how the rates noted differ",
  ports = "1/2", processing = "h/h", reads = {"FWD_RATE", "REV_RATE"}, lengthens = 0,
  division = "any",
  arguments = {
    {"FWD_WEIGHT", "int", required = true}, {"REV_WEIGHT", "int", required = true},
    {"THRESH", "int", required = true},
  },
  handlers = {
    fwd_weight = element.data("forward", "int"),
    rev_weight = element.data("reverse", "int"),
    thresh = element.data("threshold", "int"),
  },
  notes = "A packet leaves by output 1 if one of its rates (IPRateMonitor) is above "
    .. "THRESH, and FWD_WEIGHT times the forward rate above REV_WEIGHT times the "
    .. "reverse one; else by output 0. A rate of 0 counts as 1.",
}

function CompareBlock:configure(a)
  self.forward, self.reverse, self.threshold = a.FWD_WEIGHT, a.REV_WEIGHT, a.THRESH
end

function CompareBlock:process(p)
  local forward = math.max(1, p.note32[FORWARD])
  local reverse = math.max(1, p.note32[REVERSE])
  if (forward > self.threshold or reverse > self.threshold)
    and self.forward * forward > self.reverse * reverse then
    return p, 2
  end
  return p
end

return {Block, CompareBlock}

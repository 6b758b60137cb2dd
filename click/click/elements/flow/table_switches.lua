-- SPDX-License-Identifier: Apache-2.0
-- IPRRSwitch and FlowMinLoadSwitch: an output for each flow, of a table of their own.

local element = require("click.element")
local ffi = require("ffi")
local own_table = require("click.flow.own_table")

local FLOWS, BYTES = 2 ^ 20, 4
local NO_HEADER, FULL = 1, 2
local number_pointer = ffi.typeof("uint32_t *")

-- A class whose choose(self) gives the output of a new flow, from 0 on.
local function define(name, summary, choose)
  local class = element.define{
    name = name, summary = summary, ports = "1/1-", processing = "h/h",
    division = "flow", lengthens = 0, fills_cache = true,
    reads = {"NETWORK_HEADER", "TRANSPORT_HEADER", "FLOW_ID"},
    drops = {"no IPv4 header", "table of flows is full"},
    arguments = {{"MAX", "unsigned", min = 1, max = 255, keyword = true}},
    notes = ("The table holds up to %d flows, which don't end. Only the first MAX "
      .. "outputs get packets. The handler flow_count says how many flows there "
      .. "are."):format(FLOWS),
    handlers = {flow_count = {read = function (self) return self.flows:count() end}},
  }

  function class:configure(a)
    self.most = a.MAX or self.noutputs
    if self.most > self.noutputs then
      return self:error("MAX %d, of %d outputs", self.most, self.noutputs)
    end
    self.flows, self.now, self.loads = own_table.new(FLOWS, BYTES), 0, {}
    for i = 0, self.most - 1 do self.loads[i] = 0 end
  end

  function class:process(p)
    local area, new = self.flows:area(p)
    if not area then return nil, new == "full" and FULL or NO_HEADER end
    local output = ffi.cast(number_pointer, area)
    if new then output[0] = choose(self) end
    return p, output[0] + 1
  end

  return class
end

local IPRRSwitch = define("IPRRSwitch", "sends flows to its outputs in turn",
  function (self)
    self.now = (self.now + 1) % self.most
    return self.now
  end)

local FlowMinLoadSwitch = define("FlowMinLoadSwitch",
  "sends each flow to the output that has the fewest flows", function (self)
    local best = self.now
    for i = 1, self.most - 1 do
      local output = (self.now + i) % self.most
      if self.loads[output] < self.loads[best] then best = output end
    end
    self.now, self.loads[best] = best, self.loads[best] + 1
    return best
  end)

return {IPRRSwitch, FlowMinLoadSwitch}

-- SPDX-License-Identifier: Apache-2.0
-- nic_chain PCIADDR CPU SECONDS LENGTH...: chains of these lengths, one after another.

module(..., package.seeall)

local intel_app = require("apps.intel.intel_app")
local fwd = require("apps.fwd.fwd")
local numa = require("lib.numa")
local lib = require("core.lib")

local usage = "Usage: nic_chain <pciaddr> <cpu> <seconds> <length>..."

local function chain (pciaddr, length)
   local c = config.new()
   config.app(c, "intel", intel_app.Intel82599, { pciaddr = pciaddr })
   local last = "intel.tx"
   for i = 1, length do
      local name = "fwd" .. i
      config.app(c, name, fwd.Fwd)
      config.link(c, last .. " -> " .. name .. ".input")
      last = name .. ".output"
   end
   config.link(c, last .. " -> intel.rx")
   return c
end

function run (parameters)
   if #parameters < 4 then
      print(usage)
      main.exit(1)
   end
   local pciaddr = table.remove(parameters, 1)
   local cpu = tonumber(table.remove(parameters, 1))
   local seconds = tonumber(table.remove(parameters, 1))
   if not cpu or not seconds then
      print(usage)
      main.exit(1)
   end

   numa.bind_to_cpu(cpu)
   for line in io.lines("/proc/self/status") do
      if line:match("^Cpus_allowed_list") then print(line) end
   end
   engine.busywait = true
   for _, length in ipairs(parameters) do
      engine.configure(chain(pciaddr, tonumber(length)))
      engine.main({ duration = seconds, no_report = true })
      local first = length == "0" and "intel.tx -> intel.rx" or "intel.tx -> fwd1.input"
      local stats = link.stats(engine.link_table[first])
      print(("length %s received %s"):format(length, lib.comma_value(stats.txpackets)))
   end
   engine.report({ showapps = true, showpackets = true })
end

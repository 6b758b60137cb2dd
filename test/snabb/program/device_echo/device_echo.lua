-- SPDX-License-Identifier: Apache-2.0
-- device_echo DEVICE [LENGTH] [SECONDS]: DPDKDevice and a chain of Fwd apps, as in the
-- thesis's echo. DEVICE is a port's number, or a port string.

module(..., package.seeall)

local fwd = require("apps.fwd.fwd")
local dpdkdev = require("apps.dpdk_device.dpdk_device")

function run (parameters)
   if #parameters > 3 or #parameters < 1 then
      print("Usage: device_echo <dev-id> [chain-length] [duration]\nexiting...")
      main.exit(1)
   end
   local device = tonumber(parameters[1]) or parameters[1]
   local length = tonumber(parameters[2]) or 1

   local c = config.new()
   config.app(c, "dpdk", dpdkdev.DPDKDevice, device)
   for i = 1, length do
      config.app(c, "fwd" .. i, fwd.Fwd)
   end
   for i = 1, length - 1 do
      config.link(c, string.format("fwd%d.output -> fwd%d.input", i, i + 1))
   end
   config.link(c, "dpdk.output -> fwd1.input")
   config.link(c, string.format("fwd%d.output -> dpdk.input", length))

   engine.configure(c)
   engine.main{duration = tonumber(parameters[3])}
end

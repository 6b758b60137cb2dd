-- SPDX-License-Identifier: Apache-2.0
-- moon_count SAVEFILE DEVICE: sends the file's packets to a device, and counts those
-- that come from it into arrays of libmoon's.

module(..., package.seeall)

local log = require("log")
local moon = require("apps.moon_count.moon_count")
local dpdkdev = require("apps.dpdk_device.dpdk_device")

function run(parameters)
  if #parameters ~= 2 then
    log:warn("usage: moon_count SAVEFILE DEVICE")
    main.exit(1)
  end
  local c = config.new()
  config.app(c, "reader", moon.Reader, parameters[1])
  config.app(c, "device", dpdkdev.DPDKDevice, tonumber(parameters[2]))
  config.app(c, "count", moon.Count)
  config.link(c, "reader.output -> device.input")
  config.link(c, "device.output -> count.input")
  engine.configure(c)
  engine.main{duration = 0.2}
  main.exit()
end

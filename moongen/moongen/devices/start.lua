-- SPDX-License-Identifier: Apache-2.0
-- Opening the devices, when a script first asks for one: what is wrong with its
-- arguments is found before DPDK starts, which takes a while.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local native = require("moongen.devices.native")
local ports = require("moongen.devices.ports")
local settings = require("core.engine.settings")

local start = {}

-- Microseconds without a packet after which a task that waits for one sleeps.
local SLEEPS_AFTER = {never = -1, adaptive = 1000, eager = 0}

local is_due = false

--- The devices are known from now on, and opened by start.now(). In the main thread.
function start.run()
  ports.declare()
  is_due = true
end

--- The Ethernet address of a device (struct mg_device) as text.
function start.mac(d)
  local m = d.mac
  return ("%02X:%02X:%02X:%02X:%02X:%02X"):format(m[0], m[1], m[2], m[3], m[4], m[5])
end

--- The devices: a list of {id, mac, name}.
function start.list()
  local list = {}
  for id = 0, C.MG_MOST_DEVICES - 1 do
    local d = native.get(id)
    if d ~= nil then
      list[#list + 1] = {id = id, mac = start.mac(d), name = ffi.string(d.text)}
    end
  end
  return list
end

--- Open the devices and list them, unless that has been done. Tasks find them open.
function start.now()
  if not is_due then return end
  is_due = false
  local log = require("moongen.log")
  log:info("Initializing DPDK. This will take a few seconds...")
  ports.open_all()
  C.mg_receive_sleeps(SLEEPS_AFTER[settings.sleep_mode])
  local list = start.list()
  log:info("Found %d usable devices:", #list)
  for _, dev in ipairs(list) do
    print(("   Device %d: %s (%s)"):format(dev.id, dev.mac, dev.name))
  end
end

return start

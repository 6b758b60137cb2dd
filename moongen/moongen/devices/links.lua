-- SPDX-License-Identifier: Apache-2.0
-- Whether devices' links are up, and waiting for it.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local libmoon = require("moongen.tasks.libmoon")

local links = {}

local PATIENCE_SECONDS, STEP_MS = 9, 20
local USUAL_SPEED = 10000 -- Mbit/s, of what has none

--- {status = is it up?, duplex, duplexAutoneg, speed = Mbit/s}
function links.status(dev)
  local l = ffi.new("struct port_link")
  if C.pg_port_link(dev.c.ports[0], l) < 0 then
    return {status = true, duplex = true, duplexAutoneg = false, speed = USUAL_SPEED}
  end
  return {status = l.up ~= 0, duplex = l.full_duplex ~= 0, duplexAutoneg = false,
    speed = l.speed > 0 and l.speed or USUAL_SPEED}
end

local function log() return require("moongen.log") end

local function tell(dev, link)
  dev.speed = link.speed
  dev.c.speed = link.speed
  local level = link.status and "info" or "error"
  log()[level](log(), "Device %d (%s) is %s: %s%d MBit/s", dev.id, dev:getMacString(),
    link.status and "up" or "DOWN",
    link.duplex and "full-duplex " or "half-duplex ", link.speed)
  return link.status
end

--- Wait until the device's link is up, for up to so many seconds (default 9), and log
--- its state. Is it up?
function links.wait(dev, seconds)
  local until_time = C.pg_monotonic() + (seconds or PATIENCE_SECONDS)
  local link = links.status(dev)
  while not link.status and C.pg_monotonic() < until_time and libmoon.running() do
    libmoon.sleepMillisIdle(STEP_MS)
    link = links.status(dev)
  end
  return tell(dev, link)
end

--- Wait for the links of a list of devices: how many are up.
function links.wait_for_all(list)
  log():info("Waiting for devices to come up...")
  local up, seen = 0, {}
  local until_time = C.pg_monotonic() + PATIENCE_SECONDS
  for _, dev in ipairs(list) do
    if not seen[dev.id] then
      seen[dev.id] = true
      local left = math.max(until_time - C.pg_monotonic(), 0)
      if links.wait(dev, left) then up = up + 1 end
    end
  end
  local text = up == 1 and "%d device is up." or "%d devices are up."
  log():info("%s", green(text, up))
  return up
end

return links

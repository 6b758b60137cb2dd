-- SPDX-License-Identifier: Apache-2.0
-- Plugging ports in and out for the Port app: opened as their kind is, started with a
-- pool near them, and noted as open.

local ffi = require("ffi")
local C = require("core.native")
local device = require("lib.port.device")
local failure = require("core.failure")
local kinds = require("lib.port.kinds")
local opened = require("lib.port.opened")
local pool = require("core.pool")

local plug = {}

-- Of a device with several queues this app has one: the last to go unplugs it.
local function others_use(port)
  return port.queues and not C.pg_port_leave(port.device)
end

local function unplug(port, device_port)
  if others_use(port) then return nil end
  local kind = kinds.of(port)
  local lost = device.close(device_port, port, kind)
  if kind.closed then kind.closed(port) end
  return lost
end

local function note_open(port, device_port)
  device_port.account, device_port.burst = pool.freelist, C.PORT_BURST
  device_port.queue = port.queues and port.queue or 0 -- the device's: xdp's is another
  opened.note(port, device_port)
  return device_port
end

-- Start it, with a pool near it and the queues that it is to have.
local function start(port, device_port, kind)
  local near = pool.near(device_port.numa_node)
  if device_port.pool == nil then device_port.pool = near end
  device_port.queues = port.queues or 0
  if C.pg_port_start(device_port, kind.mtu or 0, true, port.offload == 1) < 0 then
    local reason = ffi.string(C.pg_error())
    unplug(port, device_port)
    failure.raise("port '%s': %s", port.text,
      kind.not_started and kind.not_started(port, reason) or reason)
  end
  if port.queues and C.pg_port_share(device_port, port.device) < 0 then
    failure.raise("port '%s': %s", port.text, ffi.string(C.pg_error()))
  end
end

--- Open the parsed port and start it; a `struct port`.
function plug.open(port)
  pool.create()
  local device_port, kind = ffi.new("struct port"), kinds.of(port)
  if port.queues and C.pg_port_join(device_port, port.device) then
    pool.near(device_port.numa_node)
    return note_open(port, device_port)
  end
  local open = kind.open or device.open
  open(device_port, port, kind)
  start(port, device_port, kind)
  return note_open(port, device_port)
end

--- Unplug it. Raises a failure if something was lost by it; it is unplugged all the
--- same.
function plug.close(port, device_port)
  local lost = unplug(port, device_port)
  opened.forget(port)
  if lost then failure.raise("port '%s': %s", port.text, lost) end
end

return plug

-- SPDX-License-Identifier: Apache-2.0
-- Plugging ports in and out for the Port app: opened as their kind is, started with a
-- pool near them, and noted as open.

local ffi = require("ffi")
local C = require("core.native")
local device = require("lib.port.device")
local driver = require("lib.port.driver")
local failure = require("core.failure")
local iface = require("lib.port.iface")
local kinds = require("lib.port.kinds")
local log = require("core.lib.log")
local opened = require("lib.port.opened")
local pool = require("core.pool")
local standby = require("core.outside.standby")

local plug = {}

-- Of a device with several queues this app has one: the last to go unplugs it.
local function others_use(port)
  return port.split and not port.gone and not C.pg_port_leave(port.split.device)
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
  device_port.full_bursts = kinds.of(port).full_bursts and 1 or 0
  device_port.queue = port.split and port.split.number or 0 -- the device's
  opened.note(port, device_port)
  return device_port
end

-- Start it, with a pool near it and the queues that it is to have.
local function start(port, device_port, kind)
  local near = pool.near(device_port.numa_node)
  if device_port.pool == nil then device_port.pool = near end
  device_port.queues = port.split and port.split.of or 0
  device_port.pairs = port.queues or 0
  device_port.interrupts = kind.rx_interrupts and 1 or 0
  if C.pg_port_start(device_port, kind.mtu or 0, true, port.offload == 1,
      port.fast_free ~= 0) < 0 then
    local reason = ffi.string(C.pg_error())
    unplug(port, device_port)
    failure.raise("port '%s': %s", port.text,
      kind.not_started and kind.not_started(port, reason) or reason)
  end
  if port.split then
    driver.check(port, C.pg_port_share(device_port, port.split.device))
  end
end

--- The device of the parsed port, opened and started; a `struct port`.
function plug.device(port)
  local device_port, kind = ffi.new("struct port"), kinds.of(port)
  local open = kind.open or device.open
  local ready = kind.prepare or kind.always_ready
    or kind.is_passed and kind.is_passed(port)
  if not ready then standby.await_end() end
  open(device_port, port, kind)
  start(port, device_port, kind)
  return device_port
end

-- Of a port that waits for its interface.
local function is_absent(port)
  local name = port.wait == 1 and kinds.interface(port)
  return name and not kinds.of(port).rejoins and not iface.is_ready(name)
end

--- Open the parsed port and start it; a `struct port`. Where the interface isn't there
--- and the port is to wait for it, it is gone (lib.port.absence).
function plug.open(port)
  pool.create()
  local device_port = ffi.new("struct port")
  if port.split and C.pg_port_join(device_port, port.split.device) then
    pool.near(device_port.numa_node)
  elseif is_absent(port) then
    C.pg_port_absent(device_port, port.text)
  else
    device_port = plug.device(port)
  end
  return note_open(port, device_port)
end

--- Give the open port to another Lua state: plain data for plug.take_over there.
function plug.hand_over(port, device_port)
  opened.forget(port)
  return {description = port, before = device.hand_over(port, kinds.of(port)),
          port = ffi.string(device_port, ffi.sizeof(device_port))}
end

--- The parsed port and struct port of what another Lua state has given.
function plug.take_over(data)
  pool.create()
  local port, device_port = data.description, ffi.new("struct port")
  ffi.copy(device_port, data.port, ffi.sizeof(device_port))
  pool.near(device_port.numa_node)
  device_port.account = pool.freelist
  device.take_over(port, kinds.of(port), data.before)
  opened.note(port, device_port)
  return port, device_port
end

-- Is another port open, of a card, an interface or a socket, that isn't gone?
local function others_are_left(port)
  for other in opened.each() do
    local kind = kinds.of(other)
    local waits = not kind.always_ready and not kind.reads
    if other ~= port and waits and not other.gone then return true end
  end
  return false
end

--- Close the card of the parsed port if it was unplugged: the port goes on without it.
--- Raises a failure if it was the last of the ports.
function plug.let_go(port, device_port)
  if port.gone or not C.pg_port_is_to_go(device_port) then return end
  local last = not others_use(port)
  port.gone = true
  C.pg_port_let_go(device_port, last)
  if not others_are_left(port) then
    failure.raise("port '%s': the card was unplugged", port.text)
  elseif last then
    log.warning("port '%s': the card was unplugged; the others go on, and what is to "
      .. "be sent by it is dropped", port.text)
  end
end

--- Unplug it. Raises a failure if something was lost by it; it is unplugged all the
--- same.
function plug.close(port, device_port)
  local lost = unplug(port, device_port)
  opened.forget(port)
  if lost then failure.raise("port '%s': %s", port.text, lost) end
end

return plug

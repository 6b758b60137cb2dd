-- SPDX-License-Identifier: Apache-2.0
-- Ports whose kernel interface goes away while they are open, or isn't there yet: they
-- wait for one of the name, whatever its number, and carry on. Meanwhile they receive
-- nothing, and what is sent to them is dropped. Each time is reported once, and
-- counted.

jit.off(true, true) -- runs seldom: compiling it would only make packets wait

local C = require("core.native")
local check = require("lib.port.check")
local device = require("lib.port.device")
local iface = require("lib.port.iface")
local kinds = require("lib.port.kinds")
local log = require("core.lib.log")
local plug = require("lib.port.plug")
local sysfs = require("lib.hardware.sysfs")

local absence = {}

local RETRY_SECONDS = 1 -- after an attempt that failed

-- Fields of the parsed port, as they go along to another Lua state: `away`: why it
-- can't be had, "" for the usual reason; `losses`; `retry_at`.
local function note(port)
  port.away, port.losses, port.retry_at = "", (port.losses or 0) + 1, 0
end

-- Of copies that each open the port for themselves, the first reports.
local function tell(how, port, ...)
  if not port.share or port.share.copy == 0 then log[how](...) end
end

--- The parsed port has been opened: is it without its interface?
function absence.begin(port, device_port)
  if device_port.gone == 0 or port.away then return end
  note(port)
  tell("warning", port, "port '%s': there is no interface '%s' that is up yet; waiting "
    .. "for it", port.text, kinds.interface(port))
end

local function lose(port, device_port, kind)
  if not kind.rejoins then
    port.made = kind.makes_interface and not device.was_there(port) or nil
    C.pg_port_let_go(device_port, true)
    device.forget(port, kind)
    if kind.closed then kind.closed(port) end
  end
  note(port)
  tell("warning", port, "port '%s': its interface '%s' is gone (removed, renamed or "
    .. "moved to another network namespace); waiting for it, and dropping what is sent "
    .. "to it", port.text, kinds.interface(port))
end

-- Open the port anew; false and why not.
local function reopen(port, device_port, kind)
  if kind.check then kind.check(port, sysfs.roots) end
  C.pg_port_come_back(device_port, plug.device(port))
end

-- Is the interface back, and the port on it?
local function come_back(port, device_port, kind)
  local name, now = kinds.interface(port), C.pg_monotonic()
  if kind.rejoins then return kind.tend(device_port) >= 0 end
  if now < port.retry_at then return false end
  if not (port.made or iface.is_ready(name)) then return false end
  local ok, why = pcall(reopen, port, device_port, kind)
  if ok then return true end
  port.retry_at = now + RETRY_SECONDS
  if tostring(why) ~= port.away then
    port.away = tostring(why)
    log.warning("%s; waiting for the interface", port.away)
  end
  return false
end

--- Look whether the interface of the open port is there: "lost" or "back" if that has
--- changed. `token`: that of check.token.
function absence.look(port, device_port, token)
  local kind = kinds.of(port)
  if port.away then
    if not come_back(port, device_port, kind) then return nil end
    port.away = nil
    tell("info", port, "port '%s': its interface '%s' is back", port.text,
      kinds.interface(port))
    return "back"
  end
  local state = kind.tend and kind.tend(device_port) or 0
  if state >= 0 and (kind.rejoins or check.alive(port, token)) then return nil end
  lose(port, device_port, kind)
  return "lost"
end

return absence

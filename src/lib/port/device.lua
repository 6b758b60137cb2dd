-- SPDX-License-Identifier: Apache-2.0
-- Opening a DPDK device by its device string, and removing it. A kernel interface that
-- was there before keeps its MTU, address and flags. One that was down is brought up,
-- and down again at the end.

local ffi = require("ffi")
local C = require("core.native")
local brought_up = require("lib.port.brought_up")
local failure = require("core.failure")
local iface = require("lib.port.iface")

local device = {}

local ETHERNET_HEADER = 14

local befores = {} -- parsed ports -> their kernel interfaces as they were

--- DPDK's device string of a parsed port of `kind`: for a virtual device
--- "net_null_pg7,size=60,copy=0", where `id` (a number or word) makes the name unique
--- in the process; for a PCI device its address. Nil for a kind that has none.
--- `before`: the kernel interface as it was (a struct iface), if there is one.
function device.string(kind, port, id, before)
  if not kind.devargs then return nil end
  local list = kind.devargs(port, before)
  if kind.driver then table.insert(list, 1, ("%s_pg%s"):format(kind.driver, id)) end
  return table.concat(list, ",")
end

--- Send no frame longer than the interface's MTU (bytes), or the driver, allows.
function device.carry_mtu(device_port, kind, mtu)
  local most = kind.most_mtu or mtu
  local longest = math.min(mtu, most) + ETHERNET_HEADER -- more than 16 bits on lo
  device_port.max_frame = math.min(longest, tonumber(C.PACKET_MAX_PAYLOAD))
end

-- The interface `name` before it is opened; nil if it is to be made.
local function read_before(kind, port, name)
  if not name then return nil end
  local before, reason = iface.read(name)
  if not before and not kind.makes_interface then
    failure.raise("port '%s': can't read the interface's MTU: %s", port.text, reason)
  end
  return before
end

-- One that is down is noted as such; whoever was killed may have brought it up.
local function note_state(name, before)
  if not iface.is_up(before) or brought_up.is_left(name) then
    brought_up.note(name)
    iface.set_down(before)
  end
end

-- The interface is as it was again.
local function leave_interface(port, kind)
  local before, name = befores[port], kind.interface and kind.interface(port)
  if before and kind.restores_state then
    iface.put_back(name, before)
    brought_up.forget(name)
  end
  befores[port] = nil
end

--- Was the kernel interface of the parsed `port` there before it was opened?
function device.was_there(port) return befores[port] ~= nil end

--- The interface of the parsed `port` has gone: there is nothing to put back.
function device.forget(port, kind)
  if befores[port] and kind.restores_state then
    brought_up.forget(kind.interface(port))
  end
  befores[port] = nil
end

-- What can't be used after all is removed.
local function give_up(device_port, port, kind, problem)
  device.close(device_port, port, kind)
  failure.raise("port '%s': %s", port.text, problem)
end

-- Keep frames to what the interface carries.
local function fit_interface(device_port, port, kind, name)
  local now, reason = iface.read(name)
  if not now then
    give_up(device_port, port, kind,
      ("the interface went away meanwhile: %s"):format(reason))
  end
  device_port.min_frame = ETHERNET_HEADER
  device.carry_mtu(device_port, kind, now.mtu)
end

--- Open the device of the parsed `port`, whose entry is `kind`, into a struct port.
function device.open(device_port, port, kind)
  local name = kind.interface and kind.interface(port)
  local before = read_before(kind, port, name)
  if kind.before_open then kind.before_open(port) end
  if before and kind.restores_state then note_state(name, before) end
  local text = device.string(kind, port, C.pg_port_next_id(), before)
  befores[port] = before
  if C.pg_port_plug(device_port, text, before and name or "") < 0 then
    local problem = ffi.string(C.pg_error())
    leave_interface(port, kind)
    failure.raise("port '%s': %s", port.text, problem)
  end
  if name then fit_interface(device_port, port, kind, name) end
  device_port.tidy = kind.tidy and 1 or 0
  if kind.small_pool and C.pg_port_small_pool(device_port) < 0 then
    give_up(device_port, port, kind, ffi.string(C.pg_error()))
  end
end

--- What is known of the interface of the parsed `port` before it was opened, as plain
--- data, for another Lua state, which has the port from now on.
function device.hand_over(port, kind)
  local before, name = befores[port], kind.interface and kind.interface(port)
  befores[port] = nil
  if not before then return nil end
  return {iface = ffi.string(before, ffi.sizeof(before)),
          note = brought_up.hand_over(name)}
end

--- The same is known here now.
function device.take_over(port, kind, known)
  if not known then return end
  local before = ffi.new("struct iface")
  ffi.copy(before, known.iface, ffi.sizeof(before))
  befores[port] = before
  brought_up.take_over(kind.interface(port), known.note)
end

--- Take the device away, and leave its kernel interface as it was. What our own driver
--- lost by it is returned, as a sentence.
function device.close(device_port, port, kind)
  local own = device_port.own ~= nil
  local lost = C.pg_port_unplug(device_port) < 0 and own and ffi.string(C.pg_error())
  leave_interface(port, kind)
  return lost or nil
end

return device

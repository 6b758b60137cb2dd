-- SPDX-License-Identifier: Apache-2.0
-- Kernel interfaces that carry a port: what they are like before DPDK has them, and
-- making them so again.

local bit = require("bit")
local ffi = require("ffi")
local C = require("core.native")

local M = {}

local IFF_UP = 0x1 -- linux/if.h

--- The interface `name` as it is now, a `struct iface`; or nil and why not.
function M.read(name)
  local iface = ffi.new("struct iface")
  if C.pg_iface_read(name, iface) < 0 then return nil, ffi.string(C.pg_error()) end
  return iface
end

--- Its Ethernet address as text.
function M.address(iface)
  local bytes = {}
  for i = 0, 5 do bytes[i + 1] = ("%02x"):format(iface.mac[i]) end
  return table.concat(bytes, ":")
end

--- Give the interface `name` the MTU `mtu`. True, or false and why not.
function M.set_mtu(name, mtu)
  local now, reason = M.read(name)
  if not now then return false, reason end
  now.mtu = mtu
  return C.pg_iface_write(name, now) == 0, ffi.string(C.pg_error())
end

--- Is the interface (from read) up?
function M.is_up(iface) return bit.band(iface.flags, IFF_UP) ~= 0 end

--- Is there an interface of that name, and is it up?
function M.is_ready(name)
  local now = M.read(name)
  return now ~= nil and M.is_up(now)
end

--- Let it be one that was down (for put_back).
function M.set_down(iface) iface.flags = bit.band(iface.flags, bit.bnot(IFF_UP)) end

--- Give the interface `name` the MTU and the state (up or down) that it had `before`
--- (from read). One that has gone is left alone.
function M.put_back(name, before)
  local now = M.read(name)
  if not now then return end
  now.mtu = before.mtu
  now.flags = bit.bor(bit.band(now.flags, bit.bnot(IFF_UP)),
    bit.band(before.flags, IFF_UP))
  C.pg_iface_write(name, now)
end

return M

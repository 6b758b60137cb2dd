-- SPDX-License-Identifier: Apache-2.0
-- Kernel interfaces that carry a port: what they are like before DPDK has them, and
-- making them so again. Drivers leave their marks: net_af_xdp promiscuous mode; net_tap
-- also another address, an MTU of 1,500 and the state down.

local bit = require("bit")
local ffi = require("ffi")
local C = require("core.native")

local M = {}

local IFF_UP, IFF_PROMISC = 0x1, 0x100 -- linux/if.h

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

--- Make the interface `name` again what it was `before` (from read): its MTU and
--- whether it is promiscuous, and with `state` whether it is up. One that has gone
--- is left alone.
function M.put_back(name, before, state)
  local now = M.read(name)
  if not now then return end
  local marks = bit.bor(IFF_PROMISC, state and IFF_UP or 0)
  now.mtu = before.mtu
  now.flags = bit.bor(bit.band(now.flags, bit.bnot(marks)),
    bit.band(before.flags, marks))
  C.pg_iface_write(name, now)
end

return M

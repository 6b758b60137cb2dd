-- SPDX-License-Identifier: Apache-2.0
-- The DPDK port of a number: a PCI device, or a virtual one that --eal made.

local ffi = require("ffi")
local C = require("core.native")
local failure = require("core.failure")
local interrupts = require("lib.port.interrupts")
local opened = require("lib.port.opened")
local pci_device = require("lib.hardware.pci_device")
local tables = require("core.lib.tables")

local MOST_NUMBER = 65534

local number = tables.copy({
  name = "number", order = 12,
  summary = "the DPDK port of that number",
  show = "3", written = "3",
  phrase = "a DPDK port's number",
  has_queues = true,
}, interrupts.of_card)

function number.device(text)
  local value = text:match("^%d+$") and tonumber(text)
  if value and value <= MOST_NUMBER then
    return {number = value, text = ("%d"):format(value)}
  end
end

function number.thing(port) return "port " .. port.number end

local function adopt(device_port, port)
  if C.pg_port_adopt(device_port, port.number) < 0 then return false end
  for other, its in opened.each() do
    if its.id == device_port.id then
      failure.usage("port '%s': that number is taken by '%s', which another app has "
        .. "open", port.text, other.text)
    end
  end
  if not pci_device.full_address(ffi.string(device_port.name)) then
    device_port.lent, device_port.tidy = 1, 1 -- a virtual device that --eal made
  end
  return true
end

-- PCI devices get port numbers in the order of their addresses.
function number.open(device_port, port)
  if adopt(device_port, port) then return end
  for _, address in ipairs(pci_device.for_dpdk()) do C.pg_probe_pci(address) end
  if not adopt(device_port, port) then
    failure.usage("port '%s': DPDK has %s; bind a network card to vfio-pci, or "
      .. "name another kind of port (`perigee ports` lists what there is)",
      port.text, C.pg_port_count() == 0 and "no ports"
      or ("only ports 0 to %d"):format(C.pg_port_count() - 1))
  end
end

return number

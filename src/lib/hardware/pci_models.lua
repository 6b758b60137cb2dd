-- SPDX-License-Identifier: Apache-2.0
-- What PCI vendor and device numbers are called, and which of Snabb's driver modules
-- stands for them. Only these names depend on the table: the Port app drives every
-- device that DPDK has a driver for.

local sysfs = require("lib.hardware.sysfs")

local M = {}

local INTEL_MP, INTEL_AVF = "apps.intel_mp.intel_mp", "apps.intel_avf.intel_avf"
local CONNECTX, SOLARFLARE = "apps.mellanox.connectx", "apps.solarflare.solarflare"
local VIRTIO = "apps.virtio_net.virtio_net"

-- "vendor:device" as in sysfs; numbers and names: the PCI ID Repository (pci.ids).
local cards = {
  ["0x8086:0x10fb"] = {"Intel 82599 SFP", INTEL_MP},
  ["0x8086:0x100e"] = {"Intel 82540EM"},
  ["0x8086:0x10d3"] = {"Intel 82574L", INTEL_MP},
  ["0x8086:0x105e"] = {"Intel 82571", INTEL_MP},
  ["0x8086:0x151c"] = {"Intel 82599 T3", INTEL_MP},
  ["0x8086:0x1528"] = {"Intel X540", INTEL_MP},
  ["0x8086:0x154d"] = {"Intel X520", INTEL_MP},
  ["0x8086:0x1521"] = {"Intel I350", INTEL_MP},
  ["0x8086:0x1533"] = {"Intel I210", INTEL_MP},
  ["0x8086:0x157b"] = {"Intel I210", INTEL_MP},
  ["0x8086:0x15b7"] = {"Intel I219-LM", INTEL_MP},
  ["0x8086:0x1563"] = {"Intel X550T", INTEL_MP},
  ["0x8086:0x1572"] = {"Intel X710 SFP+", INTEL_MP},
  ["0x8086:0x1583"] = {"Intel XL710 QSFP+", INTEL_MP},
  ["0x8086:0x158b"] = {"Intel XXV710 SFP28", INTEL_MP},
  ["0x8086:0x1592"] = {"Intel E810-C QSFP", INTEL_MP},
  ["0x8086:0x1593"] = {"Intel E810-C SFP", INTEL_MP},
  ["0x8086:0x154c"] = {"Intel XL710/X710 Virtual Function", INTEL_AVF},
  ["0x8086:0x1889"] = {"Intel Adaptive Virtual Function", INTEL_AVF},
  ["0x1924:0x0903"] = {"Solarflare SFN7122F", SOLARFLARE},
  ["0x15b3:0x1013"] = {"Mellanox MT27700 (ConnectX-4)", CONNECTX},
  ["0x15b3:0x1015"] = {"Mellanox MT27710 (ConnectX-4 Lx)", CONNECTX},
  ["0x15b3:0x1017"] = {"Mellanox MT27800 (ConnectX-5)", CONNECTX},
  ["0x15b3:0x1019"] = {"Mellanox MT28800 (ConnectX-5 Ex)", CONNECTX},
  ["0x15b3:0x101b"] = {"Mellanox MT28908 (ConnectX-6)", CONNECTX},
  ["0x15b3:0x101d"] = {"Mellanox MT2892 (ConnectX-6 Dx)", CONNECTX},
  ["0x15b3:0x1021"] = {"Mellanox MT2910 (ConnectX-7)", CONNECTX},
  ["0x1af4:0x1000"] = {"Virtio network device", VIRTIO},
  ["0x1af4:0x1041"] = {"Virtio 1.0 network device", VIRTIO},
  ["0x1d0f:0xec20"] = {"Amazon ENA", INTEL_MP},
  ["0x15ad:0x07b0"] = {"VMware VMXNET3", INTEL_MP},
}

local function card(vendor, device)
  return cards[("%s:%s"):format(vendor, device)]
end

--- The Lua module that stands for a device of these numbers ("0x8086", "0x10fb").
function M.driver(vendor, device)
  local found = card(vendor, device)
  return found and found[2] or INTEL_MP
end

local databases = {"/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids"}

-- Search the machine's pci.ids, where it has one. Lines: "vvvv  name", and below it
-- "\tdddd  name".
local function search_database(vendor, device)
  local wanted_vendor, wanted_device = vendor:sub(3), device:sub(3)
  for _, path in ipairs(databases) do
    local vendor_name
    for _, line in ipairs(sysfs.lines(path)) do
      local number, name = line:match("^(%x%x%x%x)%s+(.+)$")
      if number then
        if vendor_name then break end
        vendor_name = number == wanted_vendor and name or nil
      elseif vendor_name then
        number, name = line:match("^\t(%x%x%x%x)%s+(.+)$")
        if number == wanted_device then return vendor_name .. " " .. name end
      end
    end
  end
end

--- A name for a device of these numbers, or nil.
function M.name(vendor, device)
  if not vendor or not device then return nil end
  local found = card(vendor, device)
  return found and found[1] or search_database(vendor, device)
end

return M

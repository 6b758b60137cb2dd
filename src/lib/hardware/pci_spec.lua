-- SPDX-License-Identifier: Apache-2.0
-- Snabb's PCI functions over a fake sysfs.

local failure = require("core.failure")
local fake_tree = require("testing.fake_tree")
local pci = require("lib.hardware.pci")
local pci_device = require("lib.hardware.pci_device")
local spec = require("lib.port.spec")
local sysfs = require("lib.hardware.sysfs")

describe("lib.hardware.pci", function()
  local tree, real_roots
  before_each(function()
    tree = fake_tree.new()
    real_roots, sysfs.roots = sysfs.roots, tree.roots
  end)
  after_each(function()
    sysfs.roots = real_roots
    tree.remove()
    for address in pairs(spec.replacements()) do spec.replace(address) end
  end)

  local function addresses()
    local list = {}
    pci.scan_devices()
    for _, info in ipairs(pci.devices) do list[#list + 1] = info.pciaddress end
    return list
  end

  it("converts addresses, with one result", function()
    assert.same({"01:00.0"}, {pci.canonical("0000:01:00.0")})
    assert.same({"01:00.0"}, {pci.canonical("01:00.0")})
    assert.same({"0001:01:00.0"}, {pci.canonical("0001:01:00.0")})
    assert.same({"0000:0A:00.0"}, {pci.qualified("0A:00.0")})
    assert.same({"0000:0a:00.0"}, {pci.qualified("0000:0a:00.0")})
    assert.equal(tree.roots.sys .. "/bus/pci/devices/0000:0a:00.0", pci.path("0A:00.0"))
  end)

  it("describes a device that DPDK can have", function()
    tree.device("0000:01:00.0", {driver = "vfio-pci"})
    assert.same({pciaddress = "01:00.0", vendor = "0x8086", device = "0x10fb",
      model = "Intel 82599 SFP", driver = "apps.intel_mp.intel_mp", rx = "input",
      tx = "output", usable = "yes"}, pci.device_info("01:00.0"))
  end)

  it("describes a device that the kernel has", function()
    tree.interface("eth1", {operstate = "up"})
    tree.device("0000:01:00.0", {driver = "ixgbe", interface = "eth1"})
    local info = pci.device_info("0000:01:00.0")
    assert.equal("eth1", info.interface)
    assert.equal("up", info.status)
    assert.is_false(info.usable)
  end)

  it("counts a shared device as usable, but not under the default route", function()
    tree.device("0000:01:00.0",
      {vendor = "0x15b3", device = "0x1017", driver = "mlx5_core", interface = "eth1"})
    assert.equal("yes", pci.device_info("01:00.0").usable)
    assert.equal("apps.mellanox.connectx", pci.device_info("01:00.0").driver)
    tree.write("proc/net/route",
      "eth1\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n")
    assert.is_false(pci.device_info("01:00.0").usable)
  end)

  it("lists the devices that DPDK can have", function()
    tree.device("0000:02:00.0", {driver = "vfio-pci"})
    tree.device("0000:01:00.0", {driver = "ixgbe"})
    tree.device("0000:00:01.0", {driver = "mlx5_core"})
    tree.device("0000:00:02.0", {driver = "vfio-pci", class = "0x010802"})
    assert.same({"0000:00:01.0", "0000:02:00.0"}, pci_device.for_dpdk(tree.roots))
  end)

  it("refuses an address without a device", function()
    local ok, err = pcall(pci.device_info, "01:00.0")
    assert.is_false(ok)
    assert.is_true(failure.is(err))
    assert.equal("there is no PCI device 01:00.0", tostring(err))
  end)

  it("scans network devices and replaced addresses, each time anew", function()
    tree.device("0000:02:00.0")
    tree.device("0000:00:01.0", {class = "0x060400"})
    assert.same({"02:00.0"}, addresses())
    spec.replace("01:00.0", "pcap:rx=a.pcap")
    assert.same({"01:00.0", "02:00.0"}, addresses())
    assert.same({"01:00.0", "02:00.0"}, addresses())
    spec.replace("02:00.0", "null")
    assert.equal("yes", pci.device_info("02:00.0").usable)
    assert.same({"01:00.0", "02:00.0"}, addresses())
  end)

  it("gives replaced addresses to programs that choose by Lua pattern", function()
    spec.replace("01:00.0", "null")
    pci.scan_devices()
    local info = pci.devices[1]
    assert.truthy(pci.qualified(info.pciaddress):gmatch("01:00")())
    assert.truthy(info.usable and info.driver:match("intel"))
    assert.equal("port null", info.model)
  end)

  it("says how to bind instead of unbinding", function()
    tree.device("0000:01:00.0", {driver = "ixgbe"})
    local ok, err = pcall(pci.unbind_device_from_linux, "01:00.0")
    assert.is_false(ok)
    assert.matches("perigee pci_bind %-u 0000:01:00.0 %-%-do", tostring(err))
    spec.replace("01:00.0", "null")
    pci.unbind_device_from_linux("01:00.0")
  end)

  it("has no access to registers", function()
    local ok, err = pcall(pci.open_pci_resource_locked, "01:00.0", 0)
    assert.is_false(ok)
    assert.is_true(failure.is(err))
  end)
end)

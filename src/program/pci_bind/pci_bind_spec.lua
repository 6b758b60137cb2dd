-- SPDX-License-Identifier: Apache-2.0
-- On a made-up machine, whose kernel does what Linux does with what is written.

local fake_tree = require("testing.fake_tree")
local pci_bind = require("program.pci_bind.pci_bind")
local testing = require("testing.support")
local unistd = require("posix.unistd")

local CARD, OTHER, DISK = "0000:01:00.0", "0000:01:00.1", "0000:02:00.0"

describe("pci_bind", function ()
  local tree, said, written, original_print, override

  local function file(path)
    return path:sub(#tree.base + 2)
  end

  local function driver(address, name)
    local link = ("%s/sys/bus/pci/devices/%s/driver"):format(tree.base, address)
    unistd.unlink(link)
    if name then tree.link("../../drivers/" .. name, file(link)) end
  end

  -- What a write does: Linux's drivers/pci/pci-sysfs.c and drivers/base/bus.c.
  local function kernel(path, text)
    written[#written + 1] = ("%s<%s"):format(file(path), (text:gsub("\n", "")))
    local address, name = path:match("([^/]+)/([^/]+)$")
    if name == "driver_override" then
      override = text:gsub("\n", "")
    elseif name == "unbind" then
      driver(text, nil)
    elseif name == "drivers_probe" then
      driver(text, override ~= "" and override or "ixgbe")
    elseif name == "remove" then
      return nil, "Permission denied"
    end
    return address ~= nil
  end

  before_each(function ()
    tree = fake_tree.new()
    tree.device(CARD, {driver = "ixgbe", interface = "eth1", group = "7"})
    tree.device(OTHER, {driver = "ixgbe", group = "7"})
    tree.device(DISK, {class = "0x010802", driver = "nvme"})
    tree.interface("eth1", {flags = "0x1002"}) -- down
    tree.write("sys/bus/pci/drivers/vfio-pci/bind", "")
    tree.link("../../../bus/pci/devices/" .. CARD,
      "sys/kernel/iommu_groups/7/devices/" .. CARD)
    said, written, override = {}, {}, ""
    original_print = print
    rawset(_G, "print", function (text) said[#said + 1] = text end)
  end)
  after_each(function ()
    rawset(_G, "print", original_print)
    tree.remove()
  end)

  local function run(options)
    pci_bind.execute(options, tree.roots, kernel)
    return table.concat(said, "\n")
  end

  local function refused(options, sentence)
    local ok, err = pcall(run, options)
    assert.is_false(ok)
    assert.matches(sentence, tostring(err), 1, true)
    assert.same({}, written)
  end

  local UNBIND = {
    "sys/bus/pci/devices/0000:01:00.0/driver_override<vfio-pci",
    "sys/bus/pci/devices/0000:01:00.0/driver/unbind<0000:01:00.0",
    "sys/bus/pci/drivers_probe<0000:01:00.0",
  }

  it("says what it would do, and changes nothing", function ()
    local base = tree.base:gsub("%-", "%%-") .. "/sys"
    local text = run{unbind = "01:00.0"}
      :gsub(base .. "/bus/pci/devices/" .. CARD:gsub("%.", "%%."), "B"):gsub(base, "S")
    assert.same({}, written)
    assert.equal(("To give %s (driver ixgbe) to DPDK:\n  echo vfio-pci > "
      .. "B/driver_override\n  echo %s > B/driver/unbind\n  echo %s > "
      .. "S/bus/pci/drivers_probe\n"
      .. "This was a dry run, nothing has changed; add --do to do it.")
      :format(CARD, CARD, CARD), text)
  end)

  it("gives a device to DPDK, and back", function ()
    assert.matches("is bound to vfio-pci", run{unbind = CARD, ["do"] = true}, 1, true)
    assert.same(UNBIND, written)
    assert.matches("can be used already", run{unbind = CARD, ["do"] = true}, 1, true)
    assert.equal(3, #written)
    assert.matches("0000:01:00.0 is bound to the kernel's driver ixgbe",
      run{bind = "01:00.0", ["do"] = true}, 1, true)
    assert.same({
      "sys/bus/pci/devices/0000:01:00.0/driver_override<",
      "sys/bus/pci/devices/0000:01:00.0/driver/unbind<0000:01:00.0",
      "sys/bus/pci/drivers_probe<0000:01:00.0",
    }, {written[4], written[5], written[6]})
    assert.matches("the kernel has 0000:01:00.0 already",
      run{bind = CARD, ["do"] = true}, 1, true)
    assert.equal(6, #written)
  end)

  it("binds a device that has no driver", function ()
    driver(CARD, nil)
    run{unbind = CARD, ["do"] = true}
    assert.same({UNBIND[1], UNBIND[3]}, written)
  end)

  it("refuses what is in use, unless forced", function ()
    tree.interface("eth1")
    local sentence = "0000:01:00.0 is in use: its interface eth1 is up"
    for _, name in ipairs{"unbind", "remove"} do
      refused({[name] = CARD}, sentence)
      refused({[name] = CARD, ["do"] = true}, sentence)
      refused({[name] = CARD, force = true}, sentence)
    end
    run{unbind = CARD, ["do"] = true, force = true}
    assert.same(UNBIND, written)
  end)

  it("refuses what a bridge or a process has", function ()
    tree.link("../br0", "sys/class/net/eth1/upper_br0")
    refused({unbind = CARD, ["do"] = true}, "its interface eth1 is part of br0")
    unistd.unlink(tree.base .. "/sys/class/net/eth1/upper_br0")
    tree.write("proc/41/comm", "testpmd\n")
    tree.link("/dev/vfio/7", "proc/41/fd/3")
    refused({unbind = CARD, ["do"] = true}, "process 41 (testpmd) has it open")
    driver(CARD, "vfio-pci")
    refused({bind = CARD, ["do"] = true}, "process 41 (testpmd) has it open")
  end)

  it("never touches the way to the machine, nor other devices", function ()
    tree.write("proc/net/route", "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse"
      .. "\tMetric\tMask\neth1\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n")
    refused({unbind = CARD, ["do"] = true, force = true},
      "the machine's default route goes over its interface eth1")
    refused({unbind = DISK, ["do"] = true, force = true}, "is no network device")
  end)

  it("says what stands in the way", function ()
    refused({unbind = "05:00.0"}, "there is no PCI device 0000:05:00.0")
    refused({unbind = "../x"}, "'../x' isn't a PCI address")
    refused({}, "say what to do")
    unistd.unlink(tree.base .. "/sys/bus/pci/drivers/vfio-pci/bind")
    unistd.rmdir(tree.base .. "/sys/bus/pci/drivers/vfio-pci")
    refused({unbind = CARD}, "`modprobe vfio-pci`")
    tree.write("sys/bus/pci/drivers/vfio-pci/bind", "")
    tree.device("0000:03:00.0", {driver = "ixgbe"})
    refused({unbind = "03:00.0"}, "the machine has no IOMMU in use")
    tree.write("sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "Y\n")
    run{unbind = "03:00.0", ["do"] = true}
    assert.equal(3, #written)
  end)

  it("names what else is in the IOMMU group", function ()
    tree.link("x", "sys/kernel/iommu_groups/7/devices/" .. OTHER)
    assert.matches("other devices that kernel drivers have: " .. OTHER,
      run{unbind = CARD}, 1, true)
  end)

  it("notices that the kernel did something else", function ()
    local function deaf() return true end
    local ok, err = pcall(pci_bind.execute, {unbind = CARD, ["do"] = true}, tree.roots,
      deaf)
    assert.is_false(ok)
    assert.matches("the kernel hasn't bound 0000:01:00.0 as asked: it has the driver "
      .. "ixgbe", tostring(err), 1, true)
    ok, err = pcall(run, {remove = CARD, ["do"] = true})
    assert.is_false(ok)
    assert.matches("can't write to [^ ]*/remove: Permission denied", tostring(err))
  end)

  it("prints names, removes and looks again", function ()
    assert.equal("0000:01:00.0 is known as eth1", run{info = "01:00.0"})
    said = {}
    run{all = true, ["do"] = true}
    assert.same({"sys/bus/pci/rescan<1"}, written)
    local ok, err = pcall(run, {info = OTHER})
    assert.is_false(ok)
    assert.matches("has no interface: its driver is ixgbe", tostring(err), 1, true)
  end)

  it("takes one action", function ()
    for words, sentence in pairs{
      ["-u 01:00.0 -b 01:00.0"] = "can not be used together", ["-u"] = "argument",
      [""] = "say what to do", ["-u 01:00.0 extra"] = "too many arguments",
    } do
      local list = {"pci_bind"}
      for word in words:gmatch("%S+") do list[#list + 1] = word end
      local text, status = testing.perigee(list)
      assert.matches(sentence, text, 1, true)
      assert.equal(2, status)
    end
    local text, status = testing.perigee{"pci_bind", "--all"}
    assert.matches("This was a dry run", text, 1, true)
    assert.equal(0, status)
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
-- The list of ports on a fake machine.

local cjson = require("cjson")
local fake_tree = require("testing.fake_tree")
local inventory = require("program.ports.inventory")
local ports = require("program.ports.ports")
local spec = require("lib.port.spec")

describe("perigee ports", function()
  local tree
  before_each(function()
    tree = fake_tree.new()
    tree.capabilities("000001ffffffffff")
    tree.interface("veth0", {ifindex = "7", speed = "10000", mtu = "3000"})
    tree.interface("eth1", {ifindex = "8"})
    tree.interface("tap0", {ifindex = "9", tun_flags = "0x1902", flags = "0x1002"})
    tree.write("dev/net/tun", "")
    tree.write("dev/vfio/12", "")
    tree.device("0000:01:00.0", {driver = "vfio-pci", group = "12", numa_node = "1"})
    tree.device("0000:02:00.0", {driver = "ixgbe", interface = "eth1"})
    tree.device("0000:03:00.0", {class = "0x060400"})
  end)
  after_each(function()
    tree.remove()
    for address in pairs(spec.replacements()) do spec.replace(address) end
  end)

  -- A process with one open file.
  local function process(pid, name, target)
    tree.write(("proc/%d/comm"):format(pid), name .. "\n")
    tree.link(target, ("proc/%d/fd/3"):format(pid))
  end

  local function by_port(list)
    local entries = {}
    for _, entry in ipairs(list) do entries[entry.port] = entry end
    return entries
  end

  it("gives the port string, link, MTU, NUMA node and driver of each", function()
    local found = inventory.read(tree.roots)
    local pci, ifaces = by_port(found.pci), by_port(found.interfaces)
    assert.equal(2, #found.pci)
    assert.equal(3, #found.interfaces)
    assert.same({port = "0000:01:00.0", description = "Intel 82599 SFP", numa = 1,
      driver = "vfio-pci", interfaces = {}, processes = {}}, pci["0000:01:00.0"])
    assert.equal("up", pci["0000:02:00.0"].state)
    assert.equal(3000, ifaces["packet:veth0"].mtu)
    assert.equal(10000, ifaces["packet:veth0"].speed)
    assert.equal("xdp:veth0", ifaces["packet:veth0"].other_port)
    assert.equal("down", ifaces["tap:tap0"].state)
    tree.interface("veth0", {mtu = "9000"})
    local jumbo = by_port(inventory.read(tree.roots).interfaces)["packet:veth0"]
    assert.is_nil(jumbo.other_port)
    assert.is_nil(jumbo.problem)
  end)

  it("says why a device can't be used", function()
    local entry = by_port(inventory.read(tree.roots).pci)["0000:02:00.0"]
    assert.matches("^the kernel driver 'ixgbe' has the device; bind it", entry.problem)
  end)

  it("names the processes that hold a device", function()
    process(41, "testpmd", "/dev/vfio/12")
    process(42, "tcpdump", "socket:[777]")
    process(43, "other", "socket:[778]")
    process(44, "qemu", "/dev/net/tun")
    tree.write("proc/44/fdinfo/3", "pos:\t0\nflags:\t02\niff:\ttap0\n")
    tree.write("proc/net/packet", "sk               RefCnt Type Proto  Iface R Rmem"
      .. "   User   Inode\n"
      .. "00000000e2b4d6c5 3      3    0003   7     1 0      0      777\n")
    local found = inventory.read(tree.roots)
    local pci, ifaces = by_port(found.pci), by_port(found.interfaces)
    assert.same({{pid = 41, name = "testpmd"}}, pci["0000:01:00.0"].processes)
    assert.same({{pid = 42, name = "tcpdump"}}, ifaces["packet:veth0"].processes)
    assert.same({{pid = 44, name = "qemu"}}, ifaces["tap:tap0"].processes)
    assert.same({}, ifaces["packet:eth1"].processes)
    assert.matches("vfio%-pci, testpmd %(41%)", ports.format(found))
  end)

  it("prints a line for each, with columns in line", function()
    spec.replace("02:00.0", "null")
    local text = ports.format(inventory.read(tree.roots))
    local starts = {}
    for line in text:gmatch("[^\n]+") do
      local start = line:find("MTU", 1, true) or line:find("3000", 1, true)
      if start then starts[#starts + 1] = start end
    end
    assert.equal(3, #starts)
    assert.equal(starts[2], starts[3])
    assert.matches("packet:veth0 .* up 10 Gbit/s +3000 +%- +kernel\n", text)
    assert.matches("\n +also as xdp:veth0\n", text)
    assert.matches("\n +replaced by null\n", text)
  end)

  it("prints JSON", function()
    process(41, "testpmd", "/dev/vfio/12")
    local data = cjson.decode(ports.to_json(inventory.read(tree.roots)))
    local pci = by_port(data.pci)
    assert.is_true(pci["0000:01:00.0"].usable)
    assert.equal(41, pci["0000:01:00.0"].processes[1].pid)
    assert.is_false(pci["0000:02:00.0"].usable)
    assert.equal(3, #data.interfaces)
  end)

  it("prints empty lists on a machine without a network", function()
    local empty = fake_tree.new()
    local found = inventory.read(empty.roots)
    empty.remove()
    assert.equal('{"pci":[],"interfaces":[]}', ports.to_json(found))
    assert.matches("^PCI network devices: none\n\nKernel interfaces: none\n",
      ports.format(found))
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
-- Kernel interfaces from fake /proc and /sys trees. The route lines have the formats
-- of a real Linux 6 machine.

local fake_tree = require("testing.fake_tree")
local interfaces = require("lib.hardware.interfaces")

local ROUTE_HEADER = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask"
  .. "\t\tMTU\tWindow\tIRTT\n"

local function route(iface, destination, flags, mask)
  return ("%s\t%s\t010200C0\t%s\t0\t0\t0\t%s\t0\t0\t0   \n")
    :format(iface, destination, flags, mask)
end

local function route6(prefix_bits, flags, iface)
  local zeros = ("0"):rep(32)
  return ("%s %s %s 00 fd%s 00000400 00000002 00000000 %s %8s\n")
    :format(zeros, prefix_bits, zeros, ("0"):rep(30), flags, iface)
end

describe("interfaces", function()
  local tree
  before_each(function() tree = fake_tree.new() end)
  after_each(function() tree.remove() end)

  it("are named in order", function()
    tree.interface("veth1")
    tree.interface("eth0")
    assert.same({"eth0", "veth1"}, interfaces.names(tree.roots))
    assert.is_true(interfaces.exists("eth0", tree.roots))
    assert.is_false(interfaces.exists("eth", tree.roots))
  end)

  it("are up, down or unknown", function()
    tree.interface("a", {flags = "0x1003"})
    tree.interface("b", {flags = "0x1002"})
    assert.is_true(interfaces.is_up("a", tree.roots))
    assert.is_false(interfaces.is_up("b", tree.roots))
    assert.is_nil(interfaces.is_up("c", tree.roots))
  end)

  describe("under the default route", function()
    before_each(function() tree.interface("eth0"); tree.interface("eth1") end)

    it("of IPv4", function()
      tree.write("proc/net/route", ROUTE_HEADER
        .. route("eth1", "000200C0", "0001", "00FFFFFF")
        .. route("eth0", "00000000", "0003", "00000000"))
      assert.equal("eth0", interfaces.default_route_over("eth0", tree.roots))
      assert.is_nil(interfaces.default_route_over("eth1", tree.roots))
    end)

    it("of IPv6", function()
      tree.write("proc/net/ipv6_route", route6("08", "00000003", "eth1")
        .. route6("00", "00000003", "eth0"))
      assert.equal("eth0", interfaces.default_route_over("eth0", tree.roots))
      assert.is_nil(interfaces.default_route_over("eth1", tree.roots))
    end)

    it("unless the route rejects, or isn't up", function()
      tree.write("proc/net/route", ROUTE_HEADER
        .. route("eth0", "00000000", "0201", "00000000")
        .. route("eth1", "00000000", "0002", "00000000"))
      tree.write("proc/net/ipv6_route", route6("00", "00200200", "eth0"))
      assert.is_nil(interfaces.default_route_over("eth0", tree.roots))
      assert.is_nil(interfaces.default_route_over("eth1", tree.roots))
    end)

    it("0.0.0.0 with a longer mask isn't the default", function()
      tree.write("proc/net/route", ROUTE_HEADER
        .. route("eth0", "00000000", "0003", "00000080"))
      assert.is_nil(interfaces.default_route_over("eth0", tree.roots))
    end)

    it("by a bridge on a bond, and loops end", function()
      tree.link("../bond0", "sys/class/net/eth0/upper_bond0")
      tree.link("../br0", "sys/class/net/bond0/upper_br0")
      tree.link("../eth0", "sys/class/net/br0/upper_eth0")
      assert.is_nil(interfaces.default_route_over("eth0", tree.roots))
      tree.write("proc/net/route", ROUTE_HEADER
        .. route("br0", "00000000", "0003", "00000000"))
      assert.equal("br0", interfaces.default_route_over("eth0", tree.roots))
      assert.is_nil(interfaces.default_route_over("eth1", tree.roots))
    end)
  end)

  it("have details", function()
    tree.interface("eth0", {speed = "10000", mtu = "9000",
      address = "02:00:00:00:00:01", ["device/numa_node"] = "1"})
    tree.link("../../drivers/ixgbe", "sys/class/net/eth0/device/driver")
    assert.same({name = "eth0", driver = "ixgbe", state = "up", speed = 10000,
      mtu = 9000, numa = 1, address = "02:00:00:00:00:01", index = 5, is_tap = false,
      multi_queue = false},
      interfaces.details("eth0", tree.roots))
    tree.interface("tap0", {speed = "-1", carrier = "0", tun_flags = "0x1002"})
    local tap = interfaces.details("tap0", tree.roots)
    assert.equal("no carrier", tap.state)
    assert.is_nil(tap.speed)
    assert.is_true(tap.is_tap)
    assert.is_false(tap.multi_queue)
    tree.interface("tap1", {tun_flags = "0x1902"})
    assert.is_true(interfaces.details("tap1", tree.roots).multi_queue)
    tree.interface("tun0", {tun_flags = "0x1001"})
    assert.is_false(interfaces.details("tun0", tree.roots).is_tap)
  end)

  it("of this machine include the loopback interface", function()
    assert.is_true(interfaces.exists("lo"))
    assert.equal(1, interfaces.index("lo"))
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local host_addresses = require("click.host_addresses")
local interfaces = require("lib.hardware.interfaces")
local fake_tree = require("testing.fake_tree")

describe("Addresses of the host's interfaces", function ()
  it("are the kernel's", function ()
    local address = host_addresses.find("ip", "lo")
    if not address then pending("lo has no address here") return end
    assert.equal(0x7f000001, address)
    assert.same({address = 0x7f000001, mask = 0xff000000, length = 8},
      host_addresses.find("ip_prefix", "lo"))
    assert.is_nil(host_addresses.find("eth", "lo")) -- it is no Ethernet
    assert.is_nil(host_addresses.find("ip6", "lo"))
  end)

  it("are 6 bytes of Ethernet", function ()
    for _, name in ipairs(interfaces.names()) do
      local eth = host_addresses.find("eth", name)
      local file = eth and io.open(("/sys/class/net/%s/address"):format(name))
      if file then
        assert.equal(file:read("*l"), (eth:gsub(".", function (c)
          return (":%02x"):format(c:byte())
        end):sub(2)))
        file:close()
      end
    end
  end)

  it("are asked for by names of interfaces only", function ()
    assert.is_nil(host_addresses.find("ip", "there-is-none"))
    assert.is_nil(host_addresses.find("ip", "an-interface-of-16"))
    assert.is_nil(host_addresses.find("ip", "10.0.0.1"))
  end)

  it("have the gateway of the default route", function ()
    local tree = fake_tree.new()
    tree.interface("eth0")
    tree.interface("eth1")
    tree.write("proc/net/route", "Iface\tDestination\tGateway\n"
      .. "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\n"
      .. "eth1\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\n")
    assert.equal(0xc0000201, host_addresses.find("ip", "eth0:gw", tree.roots))
    assert.is_nil(host_addresses.find("ip", "eth1:gw", tree.roots))
    tree.remove()
  end)

  it("stand behind names that elements define", function ()
    local r = assert(click.router("AddressInfo(lo 10.0.0.1); Idle -> Discard"))
    assert.equal(0x0a000001, r.names:find("ip", "x", "lo"))
    assert.is_nil(r.names:find("ip", "x", "there-is-none"))
    assert.same(host_addresses.find("ip_prefix", "lo"),
      r.names:find("ip_prefix", "x", "lo"))
    r:close()
  end)
end)

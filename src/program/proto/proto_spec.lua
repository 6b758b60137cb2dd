-- SPDX-License-Identifier: Apache-2.0
-- `perigee proto` in a process of its own.

local testing = require("testing.support")

describe("perigee proto", function ()
  it("lists the protocols, a line each", function ()
    local said, status = testing.perigee{"proto"}
    assert.equal(0, status)
    assert.matches("\nudp +8 +UDP +RFC 768\n", said)
    assert.matches("\nip6 +40 +IPv6 +RFC 8200, section 3\n", said)
  end)

  it("prints a protocol's page from its definition", function ()
    local said, status = testing.perigee{"proto", "udp"}
    assert.equal(0, status)
    assert.matches("^udp: UDP\nSource: RFC 768\nLies over: ip4 %(17%)\n", said)
    assert.matches("Followed by, as DstPort or SrcPort says:", said, 1, true)
    assert.matches(" vxlan %(4789 8472%)", said)
    assert.matches("\n  DstPort +16 +udpDst +1025\n", said)
    assert.matches("\n  Length +16 +udpLength +%- +length of the header and what", said)
  end)

  it("prints subtypes, optional and variable parts", function ()
    assert.matches('subType = "vlan", 18 bytes', (testing.perigee{"proto", "eth"}), 1,
      true)
    assert.matches("there if KeyPresent is 1", (testing.perigee{"proto", "gre"}), 1,
      true)
    assert.matches("options +%.%.%. +ip4Options", (testing.perigee{"proto", "ip4"}))
  end)

  it("prints the page of every protocol", function ()
    local page = require("lib.stack.page")
    local registry = require("lib.stack").registry
    for _, name in ipairs(registry.protocols()) do
      assert.matches("^" .. name .. ": ", page.text(registry.find(name)))
    end
  end)

  it("refuses a name that there isn't", function ()
    local said, status = testing.perigee{"proto", "vxlam"}
    assert.equal(2, status)
    assert.equal("perigee: there is no protocol 'vxlam'; is 'vxlan' meant? "
      .. "`perigee proto` lists all\n", said)
  end)
end)

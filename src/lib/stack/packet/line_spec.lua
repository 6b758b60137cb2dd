-- SPDX-License-Identifier: Apache-2.0
-- Packets on one line, where tcpdump has other words or none. (test/test_stack_line.py
-- compares the common ones.)

local packet = require("core.packet")
local stack = require("lib.stack")
require("lib.stack.packet.buffer")

describe("dump(\"line\")", function ()
  local p, written
  before_each(function ()
    p, written = packet.allocate(), {}
    p.length = 0
  end)
  after_each(function () packet.free(p) end)

  local stream = {write = function (_, ...)
    for _, text in ipairs{...} do written[#written + 1] = text end
  end}

  local function line(args, ...)
    p.length = 0
    local pkt = stack.createStack(...)(p)
    pkt:fill(args)
    local said = pkt:dump("line", stream)
    assert.equal(said .. "\n", table.concat(written))
    written = {}
    assert.equal(said, stack.resolve(p):dump("line", stream))
    assert.equal(said, p:dump("line", stream))
    written = {}
    return said
  end

  it("names what tcpdump has pages for", function ()
    assert.equal("IP 192.168.1.1 > 224.0.0.5: OSPF, length 44: OSPF hello, length 20",
      line({pktLength = 78}, "eth", "ip4", "ospf", "ospfhello"))
    assert.equal("02:00:00:00:00:01 > 02:00:00:00:00:02, ethertype Unknown (0x88b5), "
      .. "length 60", line({ethType = 0x88b5, pktLength = 60}, "eth"))
    assert.equal("IP 192.168.1.1 > 192.168.1.2: ip-proto-253, length 20",
      line({pktLength = 54}, "eth", "ip4"))
  end)

  it("goes through tunnels", function ()
    assert.equal("IP 192.168.1.1.1024 > 192.168.1.2.4789: VXLAN, vni 7: "
      .. "IP6 fe80::1.1024 > fe80::2.1025: UDP, length 2",
      line({vxlanVNI = 7, pktLength = 114}, "eth", "ip4", "udp", "vxlan",
        {"eth", name = "e"}, "ip6", {"udp", name = "u"}))
  end)

  it("takes packets that end anywhere", function ()
    stack.createStack("eth", "ip4", "icmp", "icmperror", {"ip4", name = "old"},
      {"udp", name = "what"})(p):fill{icmpType = 3, icmpCode = 3}
    for length = p.length, 0, -1 do
      p.length = length
      assert.is_string(p:dump("line", stream))
    end
  end)

  it("isn't what other texts ask for", function ()
    local pkt = stack.createStack("eth")(p)
    pkt:fill{}
    local ok, message = pcall(pkt.dump, pkt, "lines", stream)
    assert.is_false(ok)
    assert.matches("dump takes a number of bytes, or \"line\", not 'lines'", message, 1,
      true)
    assert.is_string(pkt:dump("4", stream))
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
-- Checked casts of packets whose lengths say that there is less than there is.

local packet = require("core.packet")
local stack = require("lib.stack")

local function reason(args, ...)
  local p = packet.allocate()
  local as = stack.createStack(...)
  as(p):fill(args)
  p.length = p.length + 20 -- padding
  local pkt, why = as.check(p)
  packet.free(p)
  return pkt and "passed" or why
end

describe("lib.stack: a checked cast", function ()
  it("takes no padding for a header", function ()
    assert.equal("passed", reason({}, "eth", "ip4", "udp", "ptp"))
    assert.equal("udp ends before ptp does",
      reason({udpLength = 8}, "eth", "ip4", "udp", "ptp"))
    assert.equal("udp ends before ptp does",
      reason({ip4Length = 40}, "eth", "ip4", "udp", "ptp"))
    assert.equal("ip4 ends before udp does",
      reason({ip4Length = 27}, "eth", "ip4", "udp", "ptp"))
  end)

  it("doesn't go by a length that can't be right", function ()
    assert.equal("passed", reason({udpLength = 7}, "eth", "ip4", "udp", "ptp"))
    assert.equal("passed", reason({ip4Length = 0}, "eth", "ip4", "udp", "ptp"))
    assert.equal("passed", reason({ip4Length = 65535}, "eth", "ip4", "udp", "ptp"))
  end)
end)

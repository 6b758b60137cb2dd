-- SPDX-License-Identifier: Apache-2.0

local click = require("testing.click")

local HEADER = "60000000 %04x %02x 40 20010db8 00000000 00000000 00000001 20010db8 "
  .. "00000000 00000000 00000002 %s"

-- The lines that Print makes of the packet's transport header; sums are Scapy's.
local function sum(kind, l4, element)
  local n = #l4:gsub(" ", "") / 2
  local r = click.run(([[InfiniteSource(\<%s>, 1, STOP true) -> CheckIP6Header -> %s
    -> Strip(40) -> Print(MAXLENGTH 99) -> Discard]]):format(
      HEADER:format(n, kind, l4), element))
  local said = r.said
  r:close()
  return said[1]
end

describe("SetTransportChecksumIP6", function ()
  it("sets the checksum of UDP, TCP and ICMPv6", function ()
    assert.equal("  10 | 0fa00035 000a332f 6161",
      sum(17, "0fa00035 000a0000 6161", "SetTransportChecksumIP6"))
    assert.equal("  20 | 0fa00050 00000001 00000000 50022000 247d0000",
      sum(6, "0fa00050 00000001 00000000 50022000 00000000", "SetTCPChecksumIP6"))
    assert.equal("   8 | 80002447 00010000",
      sum(58, "80000000 00010000", "SetICMPChecksumIP6"))
    assert.equal("   4 | 01020304", sum(99, "01020304", "SetUDPChecksumIP6"))
  end)

  it("drops what lacks a header, and says so once", function ()
    local unit = click.unit("SetTransportChecksumIP6")
    for _ = 1, 2 do assert.same({}, unit:send("abc")) end
    assert.equal(1, #unit.said)
    assert.same({["no IPv6 transport header"] = 2}, unit.lost)
    assert.is_nil(sum(6, "01020304", "SetTransportChecksumIP6"))
  end)
end)

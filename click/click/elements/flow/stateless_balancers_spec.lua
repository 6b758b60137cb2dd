-- SPDX-License-Identifier: Apache-2.0
-- Which servers packets get is compared with FastClick's in test/click_elements.json.

local click = require("testing.click")

local function run(lines, text)
  return click.run_dump("src sport dst dport proto tcp_flags", lines, text)
end

local function read(r, name) return (tostring(assert(r:handler_read(name)))) end

describe("IPLoadBalancer and its relatives", function ()
  it("leave checksums right, there and back", function ()
    local lines = {}
    for i = 1, 20 do lines[i] = ("9.0.0.%d %d 5.5.5.5 80 U ."):format(i, 100 + i) end
    local r = run(lines, [[SOURCE
      -> l :: IPLoadBalancer(1.1.0.1, 1.2.0.1, VIP 5.5.5.5, LB_MODE hash_crc,
        FORCE_TRACK_LOAD true) -> CheckIPHeader -> CheckUDPHeader
      -> IPMirror -> IPLoadBalancerReverse(l) -> CheckIPHeader -> CheckUDPHeader
      -> IPFilter(allow src 5.5.5.5) -> c :: Counter -> Discard]])
    assert.equal("20", read(r, "c.count"))
    local a, b = read(r, "l.load_packets"):match("(%d+) (%d+)")
    assert.equal(20, a + b)
    assert.truthy(a + 0 > 0 and b + 0 > 0)
    r:close()
  end)

  it("drop frames that are too short, and keep flows with their station", function ()
    local r = run({"9.0.0.1 1 5.5.5.5 80 U .", "9.0.0.2 1 5.5.5.5 80 U .",
      "9.0.0.1 1 5.5.5.5 80 U .", "9.0.0.2 1 5.5.5.5 80 U ."}, [[SOURCE -> FlowIPManager
      -> EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2)
      -> l :: FlowL2LoadBalancer(0:0:0:0:0:1, 0:0:0:0:0:2, FORCE_TRACK_LOAD true)
      -> Print(MAXLENGTH 6) -> Truncate(5) -> L2LoadBalancer(0:0:0:0:0:3)
      -> n :: Counter -> Discard]])
    assert.equal("2 2", read(r, "l.load_packets"))
    assert.equal("0", read(r, "n.count"))
    r:close()
  end)

  it("hash as CRC32c does", function ()
    local C = require("core.declare")("native/flow_ends.h")
    local ends = require("ffi").new("struct click_flow_ends", 1, 2, 3, 4, 6)
    local bit, crc = require("bit"), 0
    for _, word in ipairs{6, 1, 2, 3 + 4 * 65536} do
      crc = bit.bxor(crc, word)
      for _ = 1, 32 do
        local low = bit.band(crc, 1)
        crc = bit.bxor(bit.rshift(crc, 1), low == 1 and 0x82f63b78 or 0)
      end
    end
    assert.equal(crc % 2 ^ 32, C.pg_flow_crc(ends))
  end)
end)

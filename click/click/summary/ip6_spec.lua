-- SPDX-License-Identifier: Apache-2.0
-- Packets of IPv6 from summary dumps (IPV6, FLOWID6).

local click = require("testing.click")
local dumps = require("testing.click_dumps")
local ffi = require("ffi")
local packet = require("core.packet")
local sums = require("core.declare")("net/checksum/checksum.h")

local IP6, FLOW = 40, "!flowid6 2001:db8::1 1000 2001:db8::2 53 %s\n"
local ADDRESSES = "\32\1\13\184" .. ("\0"):rep(11) .. "\1\32\1\13\184"
  .. ("\0"):rep(11) .. "\2"

-- The bytes of the packets of a dump's text.
local function bytes_of(text, options)
  options = options or {checksums = true}
  options.ip6 = true
  local list, said = dumps.packets(text, options)
  for i, p in ipairs(list) do
    list[i] = ffi.string(p.data, p.length)
    packet.free(p)
  end
  return list, said
end

-- 0 if its checksum is right.
local function sum(packet_bytes, protocol)
  local data = ffi.cast("const uint8_t *", packet_bytes)
  return sums.pg_ip6_l4_checksum(data, data + IP6, #packet_bytes - IP6, protocol)
end

describe("a line of a summary dump of IPv6", function ()
  it("makes a packet with the flow's addresses and its own fields", function ()
    local text = FLOW:format("U") .. "!data sport payload\n7 \"hello\"\n- \"\"\n"
    local list = bytes_of(text)
    assert.equal("\96\0\0\0\0\13\17\51" .. ADDRESSES .. "\0\7\0\53\0\13",
      list[1]:sub(1, IP6 + 6))
    assert.equal("hello", list[1]:sub(IP6 + 9))
    assert.equal("\3\232\0\53\0\8", list[2]:sub(IP6 + 1, IP6 + 6))
    for _, bytes in ipairs(list) do
      assert.equal(0, sum(bytes, 17))
    end
  end)

  it("may be TCP's, by ip_proto, too", function ()
    local text = FLOW:format("U")
      .. "!data ip_proto tcp_seq tcp_flags payload\nT 5 SA \"x\"\n"
    local bytes = bytes_of(text)[1]
    assert.equal("\96\0\0\0\0\21\6\51", bytes:sub(1, 8))
    assert.equal("\3\232\0\53\0\0\0\5\0\0\0\0\80\18", bytes:sub(IP6 + 1, IP6 + 14))
    assert.equal(0, sum(bytes, 6))
  end)

  it("is Ethernet's, and IPv4's, if it says so", function ()
    local list = bytes_of(FLOW:format("U") .. "!data eth_type\n86DD\n0800\n0806\n", {})
    assert.equal("\134\221\96", list[1]:sub(13, 15))
    assert.equal("\8\0\69", list[2]:sub(13, 15))
    assert.equal(14, #list[3])
  end)

  it("has no flow of IPv4, nor one of IPv4 that of IPv6", function ()
    local text = "!flowid 1.0.0.1 5 2.0.0.2 6 U\n!data sport\n7\n"
    assert.equal(("\0"):rep(32), bytes_of(text)[1]:sub(9, 40))
    local p = dumps.packets(FLOW:format("U") .. "!data sport\n7\n")[1]
    assert.equal("\69", ffi.string(p.data, 1))
    packet.free(p)
  end)

  it("says what is wrong with a flow", function ()
    for _, flow in ipairs{"1.0.0.1 5 2.0.0.2 6", "2001:db8::1 5", "::1 5 ::2 70000",
      "::1 x ::2 6"} do
      local _, said = bytes_of(("!flowid6 %s\n!data sport\n7\n"):format(flow))
      assert.equal("<data>:1: error: bad !flowid specification", said[1])
    end
    local _, said = bytes_of("!flowid6 - - ::2 6\n!data sport\n7\n")
    assert.same({}, said)
  end)
end)

describe("FromIPSummaryDump", function ()
  it("makes IPv6 packets that CheckIP6Header takes", function ()
    local r = click.run([[FromIPSummaryDump(DATA "!data sport tcp_flags payload
7 S \"abc\"
8 . \"\"
", IPV6 true, FLOWID6 2001:db8::1 1000 2001:db8::2 53, STOP true, CHECKSUM true)
      -> CheckIP6Header -> Strip(40) -> c :: Counter -> Discard]])
    assert.equal("2", (tostring(r:handler_read("c.count"))))
    assert.equal("43", (tostring(r:handler_read("c.byte_count"))))
    r:close()
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
-- VXLAN, Geneve, GTP-U, L2TPv3 and NSH against bytes written down from their formats.

local ffi = require("ffi")
local packet = require("core.packet")
local stack = require("lib.stack")

-- The packet of `items`, filled; and what its bytes are from `first` to `last` (hex).
local function build(args, ...)
  local p = packet.allocate()
  ffi.fill(p.data, 256, 0xee)
  local pkt = stack.createStack(...)(p)
  pkt:fill(args)
  local function hex(first, last)
    return (ffi.string(p.data + first, last - first + 1):gsub(".", function (c)
      return ("%02x"):format(c:byte())
    end))
  end
  return p, hex, pkt
end

local function names(p)
  local list = {}
  for i, header in ipairs(stack.resolve(p):getArgs()) do
    list[i] = type(header) == "table" and header[1] or header
  end
  return table.concat(list, " ")
end

local inner_eth, inner_ip4 = {"eth", name = "innerEth"}, {"ip4", name = "innerIp4"}
local inner_udp = {"udp", name = "innerUdp"}

describe("lib.stack: vxlan", function ()
  it("is RFC 7348's", function ()
    local p, hex, pkt = build({vxlanVNI = 0x123456, innerIp4Dst = "10.0.0.9",
      pktLength = 100}, "eth", "ip4", "udp", "vxlan", inner_eth, inner_ip4, inner_udp)
    assert.equal("0800000012345600", hex(42, 49))
    assert.equal("12b5", hex(36, 37)) -- port 4789
    assert.equal("0042", hex(38, 39)) -- 66 bytes from UDP on
    assert.equal("0800", hex(62, 63))
    assert.equal("0a000009", hex(80, 83))
    assert.equal("eth ip4 udp vxlan eth ip4 udp", names(p))
    assert.equal(0x123456, pkt.vxlan:getVNI())
    packet.free(p)
  end)

  it("is found at Linux's old port too", function ()
    local p = build({udpDst = 8472}, "eth", "ip4", "udp", "vxlan", inner_eth)
    assert.equal("eth ip4 udp vxlan eth", names(p):sub(1, 21))
    packet.free(p)
  end)
end)

describe("lib.stack: geneve", function ()
  it("is RFC 8926's, with options", function ()
    local p, hex, pkt = build({geneveVNI = 0xabcdef, geneveCritical = 1},
      "eth", "ip4", "udp", {"geneve", length = 8}, inner_eth, inner_ip4, inner_udp)
    assert.equal("17c1", hex(36, 37)) -- port 6081
    assert.equal("02406558abcdef000000000000000000", hex(42, 57))
    assert.equal("eth ip4 udp geneve eth ip4 udp", names(p))
    assert.equal(100, p.length)
    pkt.geneve:setOptionsLength(63) -- 252 bytes: more than there are
    assert.equal("eth ip4 udp", names(p):sub(1, 11))
    assert.is_nil(names(p):find("eth", 4))
    packet.free(p)
  end)

  it("names an IP packet by its EtherType", function ()
    local p, hex = build({}, "eth", "ip4", "udp", "geneve", {"ip6", name = "innerIp6"})
    assert.equal("000086dd00000000", hex(42, 49))
    assert.equal("eth ip4 udp geneve ip6", names(p))
    packet.free(p)
  end)
end)

describe("lib.stack: gtpu", function ()
  it("is TS 29.281's", function ()
    local p, hex = build({gtpuTEID = 0xdeadbeef, pktLength = 90},
      "eth", "ip4", "udp", "gtpu", inner_ip4, inner_udp)
    assert.equal("0868", hex(36, 37)) -- port 2152
    assert.equal("30ff0028deadbeef", hex(42, 49)) -- 40 bytes follow
    assert.equal("eth ip4 udp gtpu ip4 udp", names(p))
    packet.free(p)
  end)

  it("skips the optional word and extension headers", function ()
    local p, hex, pkt = build({gtpuExtension = 1, gtpuTEID = 1},
      "eth", "ip4", "udp", {"gtpu", length = 12}, {"ip6", name = "innerIp6"})
    -- Sequence number 0, N-PDU 0, then a PDU session container (0x85) of one unit
    -- and one header of unknown type 0x40, which is the last.
    ffi.copy(p.data + 50, "\0\0\0\133" .. "\1\16\9\64" .. "\1\0\0\0", 12)
    assert.equal("34ff003400000001", hex(42, 49))
    assert.equal("eth ip4 udp gtpu ip6", names(p))
    p.data[54] = 255 -- an extension header of 1,020 bytes: more than there are
    assert.is_nil(names(p):find("ip6"))
    p.data[54] = 0 -- of no bytes: never a loop
    assert.is_nil(names(p):find("ip6"))
    pkt.gtpu:setExtension(0)
    packet.free(p)
  end)

  it("carries a packet only in messages of type 255", function ()
    local p = build({gtpuMessageType = 1}, "eth", "ip4", "udp", "gtpu", inner_ip4)
    assert.equal("eth ip4 udp gtpu", names(p))
    packet.free(p)
  end)
end)

describe("lib.stack: l2tpv3", function ()
  it("is the keyed tunnel of RFC 8159 over IPv6", function ()
    local p, hex, pkt = build({l2tpv3Cookie = 0x0102030405060708ULL},
      "eth", "ip6", "l2tpv3", inner_eth, inner_ip4)
    assert.equal("73", hex(20, 20)) -- next header 115
    assert.equal("ffffffff0102030405060708", hex(54, 65))
    assert.equal("eth ip6 l2tpv3 eth ip4", names(p))
    assert.equal(0x0102030405060708ULL, pkt.l2tpv3:getCookie())
    pkt.l2tpv3:setSessionID(0) -- a control message
    assert.equal("eth ip6 l2tpv3", names(p))
    packet.free(p)
  end)

  it("has shorter cookies where they are asked for", function ()
    local p, hex = build({l2tpv3SessionID = 7, l2tpv3Cookie = 9}, "eth", "ip4",
      {"l2tpv3", subType = "cookie32"}, inner_eth)
    assert.equal("0000000700000009", hex(34, 41))
    assert.equal(56, p.length)
    packet.free(p)
    p = build({}, "eth", "ip4", {"l2tpv3", subType = "cookie0"}, inner_eth)
    assert.equal(52, p.length)
    packet.free(p)
  end)
end)

describe("lib.stack: nsh", function ()
  it("is RFC 8300's, of MD type 2", function ()
    local p, hex = build({nshSPI = 0x010203, nshSI = 254},
      "eth", "nsh", "ip6", "udp")
    assert.equal("894f", hex(12, 13))
    assert.equal("0fc20202010203fe", hex(14, 21))
    assert.equal("eth nsh ip6 udp", names(p))
    packet.free(p)
  end)

  it("is that of MD type 1, with 16 bytes of context", function ()
    local p, hex, pkt = build({nshMDType = 1}, "eth", {"nsh", length = 16}, inner_eth,
      "ip4", "udp")
    assert.equal("0fc60103000001ff" .. ("00"):rep(16), hex(14, 37))
    assert.equal("eth nsh eth ip4 udp", names(p))
    pkt.nsh:setLength(5)
    assert.is_nil(names(p):find("ip4"))
    packet.free(p)
  end)
end)

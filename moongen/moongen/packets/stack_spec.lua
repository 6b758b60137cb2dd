-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local packet = require("core.packet")
local stack = require("moongen.packets.stack")
require("moongen.packets.buffer")

local function hex(p, n)
  return (ffi.string(p.data, n or p.length):gsub(".", function (c)
    return ("%02x"):format(c:byte())
  end))
end

-- What f() writes by io.stderr:write, as a text. (As if libmoon's log weren't there.)
local function stderr_of(f)
  local plain, said = io.stderr, {}
  local log = package.loaded.log
  package.loaded.log = true
  rawset(io, "stderr", {write = function (_, ...)
    said[#said + 1] = table.concat{...}
  end})
  local ok, message = pcall(f)
  rawset(io, "stderr", plain)
  package.loaded.log = log
  assert(ok, message)
  return table.concat(said)
end

describe("libmoon's stacks", function ()
  local p

  before_each(function ()
    p = packet.resize(packet.allocate(), 200)
    ffi.fill(p.data, 200, 0xee)
  end)
  after_each(function () packet.free(p) end)

  it("have libmoon's defaults", function ()
    p:getUdpPacket():fill{pktLength = 60}
    assert.equal("0708090a0b0c" .. "010203040506" .. "0800"
      .. "4500002e000000004011" .. "0000" .. "c0a80101" .. "c0a80102"
      .. "0400" .. "0401" .. "001a" .. "0000" .. "eeee", hex(p, 44))
    p:getTcpPacket():fill()
    assert.equal("4500" .. "0030", hex(p, 18):sub(29))
    assert.equal("0401" .. "0400" .. "00000000" .. "00000000" .. "5000" .. "7210"
      .. "0000" .. "0000", hex(p, 54):sub(69))
    p:getArpPacket():fill{}
    assert.equal("0806" .. "0001" .. "0800" .. "06" .. "04" .. "0001" .. "010203040506"
      .. "00010203" .. "0708090a0b0c" .. "04050607", hex(p, 42):sub(25))
    p:getUdpPacket(false):fill{}
    assert.equal("86dd" .. "60000000" .. "0008" .. "11" .. "40", hex(p, 22):sub(25))
    p:getEthVlanPacket():fill{}
    assert.equal("8100" .. "0001" .. "0800", hex(p, 18):sub(25))
    p:getPtpPacket():fill{}
    assert.equal("88f7" .. "0002" .. "002c", hex(p, 18):sub(25))
    p:getIcmpPacket(false):fill{}
    assert.equal(58, p:getIcmpPacket(false).ip6:getNextHeader())
    p:getLacpPacket():fill{lacpActorKey = 5}
    assert.equal("0180c2000002", hex(p, 6))
    assert.equal(5, p:getLacpPacket().lacp.actor:getKey())
    assert.is_true(p:getLacpPacket().lacp:validate())
  end)

  it("leave the table they are filled from alone", function ()
    local args = {pktLength = 100}
    p:getUdpPacket():fill(args)
    assert.same({pktLength = 100}, args)
    assert.equal(200, p:getSize())
  end)

  it("take what scripts give, with one warning for what can't be taken", function ()
    local device = {id = 3, getMacString = function () return "02:00:00:00:00:07" end}
    local pkt = p:getUdpPacket()
    local said = stderr_of(function ()
      for _ = 1, 2 do
        pkt:fill{ethSrc = {id = 0, dev = device}, udpSrc = "100", udpDst = {},
          ethDst = "12:34:56:78:90", ip6Dst = "fd00::1", ip4Src = 0xc8000001}
      end
    end)
    assert.equal("02:00:00:00:00:07", pkt.eth:getSrcString())
    assert.equal("00:00:00:00:00:00", pkt.eth:getDstString())
    assert.equal("200.0.0.1", pkt.ip4:getSrcString())
    assert.equal(100, pkt.udp:getSrcPort())
    assert.equal(0, pkt.udp:getDstPort())
    assert.equal(1, select(2, said:gsub("ethDst: '12:34:56:78:90'", "")))
    assert.equal(1, select(2, said:gsub("udpDst: a table is not a number", "")))
    assert.equal(1, select(2, said:gsub("has no 'ip6Dst'; is 'ip4Dst' meant", "")))
    pkt:fill{ethSrc = device}
    assert.equal("02:00:00:00:00:07", pkt.eth:getSrcString())
  end)

  it("have libmoon's members, in network order", function ()
    local pkt = p:getIcmpPacket()
    pkt:fill{ip4Protocol = 1}
    assert.equal(8, pkt.eth.type)
    assert.equal(1, pkt.ip4.protocol)
    assert.equal(0x45, pkt.ip4.verihl)
    pkt.ip4.ttl = 7
    pkt.icmp.body.uint16[1] = 0x3412
    pkt.payload.uint8[0] = 9
    assert.equal(7, pkt.ip4:getTTL())
    assert.equal("09ee1234", hex(p, 42):sub(77))
    assert.equal(9, pkt.icmp.body[0])
    local tcp = p:getTcpPacket()
    tcp:fill{tcpSyn = 1, tcpAck = true}
    assert.equal(0x12, tcp.tcp.flags)
    assert.is_true(tcp.tcp:getSyn())
    local vlan = p:getEthVlanPacket()
    vlan.eth:setVlanTag(0x6005)
    assert.equal(5, vlan.eth:getVlanTag())
    assert.equal(0x0560, vlan.eth.vlan_tag)
  end)

  it("set lengths and checksums", function ()
    local pkt = p:getTcpPacket()
    pkt:fill{}
    pkt:setLength(80)
    pkt:calculateChecksums(p:getData(), 80, true)
    local checked = require("lib.stack").resolve(packet.resize(p, 80))
    assert.same({true}, {checked:verify()})
    packet.resize(p, 100)
    local six = p:getTcpPacket(false)
    six:fill{pktLength = 100}
    six.tcp:calculateChecksum(p:getData(), 100, false)
    assert.same({true}, {require("lib.stack").resolve(p):verify()})
  end)

  it("refuse a length beyond the buffer", function ()
    assert.error_matches(function () p:getUdpPacket():fill{pktLength = 30000} end,
      "fill: pktLength is 30000, and this buffer holds %d+ bytes")
    p:getUdpPacket():fill{pktLength = 10240}
    p:getUdpPacket():fill{pktLength = 9000}
    local own = {getData = function () return ffi.new("uint8_t[64]") end}
    stack.create("eth")(own):fill{pktLength = 30000} -- not of a pool: who knows
  end)

  it("have their first IP header as `ip`, too, as in 2015", function ()
    p:getUdpPacket():fill{ip4Dst = "192.0.2.1"}
    assert.equal("192.0.2.1", p:getUdpPacket().ip.dst:getString())
    p:getTcpPacket(false).ip.dst:setString("2001:db8::1")
    assert.equal("2001:db8::1", p:getTcpPacket(false).ip6.dst:getString())
    assert.equal(14, ffi.offsetof(p:getUdpPacket():getName(), "ip"))
    assert.is_false((pcall(function () return p:getArpPacket().ip end)))
    local inner = stack.create("eth", "ip4", "udp", {"ip4", name = "ip"})(p)
    assert.equal(42, ffi.offsetof(inner:getName(), "ip"))
  end)

  it("take names and lengths as those of 2016 had them", function ()
    local pkt = stack.create("eth", "ip4", "udp", "vxlan", {"eth", "innerEth"})(p)
    pkt:fill{innerEthDst = "aa:bb:cc:dd:ee:ff"}
    assert.equal("aa:bb:cc:dd:ee:ff", pkt.innerEth:getDstString())
    assert.equal(50, ffi.cast("char *", pkt.innerEth) - ffi.cast("char *", p:getData()))
  end)

  it("can be made of any headers, the same once", function ()
    local as = stack.create("eth", {"ip4", name = "outer", length = 4}, "udp", "vxlan",
      {"eth", name = "innerEth"}, {"ip4", name = "inner"}, "tcp", "noPayload")
    assert.equal(as, stack.create("ethernet", {"ip4", name = "outer", length = 4},
      "udp", "vxlan", {"eth", name = "innerEth"}, {"ip4", name = "inner"}, "tcp",
      "noPayload"))
    local pkt = as(p)
    pkt:fill{outerDst = "192.0.2.1", vxlanVNI = 42, innerDst = "10.0.0.7",
      pktLength = 160}
    assert.equal(4789, pkt.udp:getDstPort())
    assert.equal(6, pkt.outer:getHeaderLength())
    assert.equal(126 - 4, pkt.udp:getLength())
    assert.equal("10.0.0.7", pkt:get().innerDst)
    assert.equal(14 + 24 + 8 + 8 + 14 + 20 + 20, ffi.sizeof(pkt:getName()))
    assert.is_false((pcall(function () return pkt.payload end)))
    assert.error_matches(function () stack.create("eth", "ip5") end,
      "there is no protocol 'ip5'; is 'ip4' or 'ip6' meant")
    assert.error_matches(function () stack.create("eth", "eth") end, "two headers")
  end)

  it("cast whatever has getData()", function ()
    local bytes = ffi.new("uint8_t[64]")
    local own = {getData = function () return ffi.cast("void *", bytes) end}
    packet.methods.getUdp4Packet(own):fill{udpDst = 7}
    assert.equal(7, bytes[37])
  end)

  it("take protocols in libmoon's form", function ()
    local header = require("moongen.packets.template")[[
      uint8_t kind;
      uint16_t number;
    ]]
    function header:fill(args, prefix) self:setNumber(args[prefix .. "Number"] or 9) end
    function header.getString() return "MINE" end
    stack.proto.mine = {headerFormat = "uint8_t kind; uint16_t number; uint8_t more[];",
      headerVariableMember = "more", metatype = header}
    local pkt = stack.create("eth", {"mine", length = 2}, "ip4")(p)
    pkt:fill{mineNumber = 258}
    assert.equal(258, pkt.mine:getNumber())
    assert.equal("0102eeee45", hex(p, 20):sub(31, 40))
    stack.proto.mine = nil
  end)
end)

describe("resolving", function ()
  local p

  before_each(function () p = packet.resize(packet.allocate(), 100) end)
  after_each(function () packet.free(p) end)

  local function names()
    local list = {}
    for i, item in ipairs(p:get():getArgs()) do
      list[i] = type(item) == "table" and item[1] .. ":" .. (item.subType or item.length
        or item.name) or item
    end
    return table.concat(list, " ")
  end

  it("follows what headers announce", function ()
    p:getUdpPacket(false):fill{udpDst = 53}
    assert.equal("eth ip6 udp dns", names())
    p:getTcpPacket():fill{tcpDataOffset = 7}
    assert.equal("eth ip4 tcp:8", names())
    p:getVxlanEthernetPacket():fill{innerEthType = 0x0806}
    assert.equal("eth ip4 udp vxlan eth:eth2 arp", names())
    p:getEthVlanPacket():fill{ethType = 0x88f7}
    assert.equal("eth:vlan ptp", names())
    p:getEthQinQPacket():fill{ethType = 0x1234}
    assert.equal("eth:qinq", names())
  end)

  it("takes 0x88a8 for the outer tag of two, or the only one", function ()
    p:getEthVlanPacket():fill{ethType = 0x88f7}
    p.data[12], p.data[13] = 0x88, 0xa8
    assert.equal("eth:vlan ptp", names())
    p:getEthQinQPacket():fill{ethType = 0x88f7}
    p.data[12], p.data[13] = 0x88, 0xa8
    assert.equal("eth:qinq ptp", names())
  end)

  it("ends with the packet", function ()
    p:getUdpPacket():fill{udpDst = 53}
    for size, expected in pairs{[0] = "", [13] = "", [14] = "eth", [33] = "eth",
      [34] = "eth ip4", [42] = "eth ip4 udp", [53] = "eth ip4 udp",
      [54] = "eth ip4 udp dns"} do
      p:setSize(size)
      assert.equal(expected, names(), size)
    end
  end)

  it("goes on from what is cast already", function ()
    p:getArpPacket():fill{}
    assert.equal("struct __eth_eth_x_x__arp_arp_x_x",
      p:getEthernetPacket():resolveLastHeader():getName())
  end)

  it("dumps as libmoon does", function ()
    p:getUdpPacket():fill{pktLength = 60, ip4Dst = "10.0.0.1"}
    p:setSize(60)
    local parts = {}
    local stream = {write = function (_, ...)
      parts[#parts + 1] = table.concat{...}
    end}
    p:dump(20, stream, false)
    assert.matches("^%d%d:%d%d:%d+%.%d+ ETH 01:02:03:04:05:06 > 07:08:09:0a:0b:0c "
      .. "type 0x0800 %(IP4%)\n"
      .. "IP4 192.168.1.1 > 10.0.0.1 ver 4 ihl 5 tos 0 len 46 id 0 flags 0 "
      .. "frag 0 ttl 64 proto 0x11 %(UDP%) cksum 0x0000 %[%-%]\n"
      .. "UDP 1024 > 1025 len 26 cksum 0x0000\n"
      .. "  0x0000:   0708 090a 0b0c 0102 0304 0506 0800 4500 \n"
      .. "  0x0010:   002e 0000 \n\n$", table.concat(parts))
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
-- Stacks against literal bytes.

local ffi = require("ffi")
local packet = require("core.packet")
local stack = require("lib.stack")

local function hex(p)
  return (ffi.string(p.data, p.length):gsub(".", function (c)
    return ("%02x"):format(c:byte())
  end))
end

local function from_hex(text)
  return packet.from_string(require("net.wire.bytes").from_hex(text))
end

local asVxlan = stack.createStack("eth", "ip4", "udp", "vxlan",
  {"eth", name = "innerEth"}, {"ip4", name = "innerIp4"}, "tcp")

local VXLAN = [[
  020000000002 020000000001 0800
  45000092000000004011000064000001c0a80102
  0400 12b5 007e 0000
  08000000 123456 00
  020000000009 020000000001 0800
  450000600000000040060000c0a80101c8000001
  04000401 00000000 00000000 5002ffff 00000000]]

describe("a stack", function ()
  local p
  before_each(function () p = packet.allocate() end)
  after_each(function () packet.free(p) end)

  local ARGUMENTS = {ip4Src = "100.0.0.1", innerEthDst = "02:00:00:00:00:09",
    innerIp4Dst = 0xc8000001, vxlanVNI = 0x123456, tcpSyn = 1, pktLength = 160}

  it("fills its headers with what is given, defaults and lengths", function ()
    local pkt = asVxlan(p)
    pkt:fill(ARGUMENTS)
    assert.equal(160, p.length)
    local bytes = VXLAN:gsub("%s", "")
    assert.equal(bytes, hex(p):sub(1, #bytes))
  end)

  it("is the packet itself under another type", function ()
    local pkt = asVxlan(p)
    pkt:fill(ARGUMENTS)
    assert.is_true(pkt.packet == p)
    assert.equal(160, pkt.length)
    pkt.length = 150
    assert.equal(150, p.length)
    assert.is_true(pkt.payload.uint8 + 0 == p.data + 104)
    assert.is_true(pkt.data == p.data)
  end)

  it("reads and writes fields in host byte order", function ()
    local pkt = asVxlan(p)
    pkt:fill(ARGUMENTS)
    assert.equal(0xc8000001, pkt.innerIp4:getDst())
    assert.equal("200.0.0.1", pkt.innerIp4:getDstString())
    assert.equal(4789, pkt.udp:getDstPort())
    assert.equal(0x123456, pkt.vxlan:getVNI())
    pkt.vxlan:setVNI(0xabcdef)
    pkt.tcp:setSeqNumber(0xfedcba98)
    assert.equal(0xfedcba98, pkt.tcp:getSeqNumber())
    assert.equal("abcdef", hex(p):sub(93, 98))
  end)
end)

describe("createStack", function ()
  it("makes a shape once", function ()
    assert.is_true(stack.createStack("eth", "ip4") == stack.createStack("eth", "ip4"))
    assert.is_false(stack.createStack("eth", "ip4") == stack.createStack("eth", "ip6"))
  end)

  it("says what is wrong", function ()
    local function refuses(sentence, ...)
      local ok, message = pcall(stack.createStack, ...)
      assert.is_false(ok)
      assert.matches(sentence, message, 1, true)
    end
    refuses("there is no protocol 'ipp4'; is 'ip4' meant?", "eth", "ipp4")
    refuses("two headers are called 'eth'", "eth", "eth")
    refuses("a header has no 'size'", {"eth", size = 3})
    refuses("ip4 has no subtype 'vlan'", {"ip4", subType = "vlan"})
    refuses("a multiple of 4", {"ip4", length = 3})
    refuses("udp has no variable part", {"udp", length = 4})
    refuses("a header can't be named 'payload'", {"udp", name = "payload"})
  end)
end)

describe("fill", function ()
  it("leaves the caller's table alone", function ()
    local p = from_hex("00")
    local arguments = {ip4Src = "10.0.0.1", pktLength = 100}
    local as = stack.createStack("eth", "ip4", "udp")
    as(p):fill(arguments)
    assert.same({ip4Src = "10.0.0.1", pktLength = 100}, arguments)
    assert.equal(66, as(p).udp:getLength())
    arguments.pktLength = 200
    as(p):fill(arguments)
    assert.equal(166, as(p).udp:getLength())
    packet.free(p)
  end)

  it("refuses labels that there aren't and values that don't fit", function ()
    local p = packet.allocate()
    local pkt = stack.createStack("eth", "ip4", "udp")(p)
    local function refuses(sentence, arguments)
      local ok, message = pcall(pkt.fill, pkt, arguments)
      assert.is_false(ok)
      assert.matches(sentence, message, 1, true)
    end
    refuses("there is no field 'ip4Sr'; is 'ip4Src' meant?", {ip4Sr = 1})
    refuses("ip4TTL: 256 doesn't fit its 8 bits (0 to 255)", {ip4TTL = 256})
    refuses("ip4Src: '10.0.0.1x' isn't an IPv4 address", {ip4Src = "10.0.0.1x"})
    refuses("pktLength is '41'; with these headers it may be 42 to 10240",
      {pktLength = 41})
    packet.free(p)
  end)
end)

describe("checked casts", function ()
  local createStack = stack.createStack
  local p
  before_each(function () p = packet.allocate() end)
  after_each(function () packet.free(p) end)

  local SHAPES = {
    {"eth", "ip4", "udp", "vxlan", {"eth", name = "inner"}, {"ip4", name = "b"}, "tcp"},
    {{"eth", subType = "vlan"}, "ip6", {"icmp6"}, "echo"},
    {{"eth", subType = "qinq"}, {"ip4", length = 8}, {"tcp", length = 12}},
    {"eth", "vlan", "mpls", {"ip4", name = "x"}},
    {"eth", "ip4", {"gre", with = {"Key", "Sequence"}}, "ip6"},
    {"eth", "ip6", "srh", "udp", "dns"},
    {"eth", "ip4", "udp", "gtpu"},
  }

  it("take packets of their own headers, and no others", function ()
    for i, shape in ipairs(SHAPES) do
      createStack(unpack(shape))(p):fill{}
      for j, other in ipairs(SHAPES) do
        local pkt, why = createStack(unpack(other)).check(p)
        assert.equal(i == j, pkt ~= nil, ("%d %d: %s"):format(i, j, tostring(why)))
        assert.is_true(pkt ~= nil or type(why) == "string")
      end
      p.length = p.length - 1
      assert.is_nil((createStack(unpack(shape)).check(p)))
      p.length = 0
    end
  end)

  it("say what is wrong", function ()
    local as = createStack("eth", "ip4", "udp")
    local function why(change)
      as(p):fill{pktLength = 60}
      change(as(p))
      return (select(2, as.check(p)))
    end
    assert.equal("ip4: its Version isn't 4",
      why(function (pkt) pkt.ip4:setVersion(6) end))
    assert.equal("ip4: its options doesn't have 0 bytes",
      why(function (pkt) pkt.ip4:setHeaderLength(6) end))
    assert.equal("ip4: its Fragment isn't 0",
      why(function (pkt) pkt.ip4:setFragment(1) end))
    assert.equal("ip4 doesn't announce udp",
      why(function (pkt) pkt.ip4:setProtocol(6) end))
  end)
end)

describe("lengths and checksums", function ()
  local p
  before_each(function () p = packet.allocate() end)
  after_each(function () packet.free(p) end)

  it("count variable parts", function ()
    local pkt = stack.createStack("eth", {"ip4", length = 8}, {"tcp", length = 12})(p)
    pkt:fill{pktLength = 100}
    assert.equal(7, pkt.ip4:getHeaderLength())
    assert.equal(8, pkt.tcp:getDataOffset())
    pkt:setLength(90)
    assert.equal(76, pkt.ip4:getLength())
    assert.equal(100, p.length)
  end)

  it("are right over IPv6 and leave the sequence number alone", function ()
    local pkt = stack.createStack("eth", "ip6", "tcp")(p)
    pkt:fill{tcpSeqNumber = 0x01020304, ip6Src = "2001:db8::1", ip6Dst = "2001:db8::2",
      pktLength = 74}
    pkt:calculateChecksums()
    assert.equal(0x01020304, pkt.tcp:getSeqNumber())
    -- 2 * (0x2001 + 0xdb8) + 1 + 2 + 20 + 6 + the header's words, by hand.
    local sum = 2 * (0x2001 + 0x0db8) + 3 + 20 + 6
      + 1024 + 1025 + 0x0102 + 0x0304 + 0x5000 + 0xffff
    sum = sum % 65536 + math.floor(sum / 65536)
    assert.equal(0xffff - sum, pkt.tcp:getChecksum())
    assert.is_true(pkt:verify())
    pkt.tcp:setWindow(1)
    local ok, problems = pkt:verify()
    assert.is_false(ok)
    assert.matches("^tcp: Checksum is 0x%x+, not 0x%x+$", problems[1])
    pkt:calculateTcpChecksum()
    assert.is_true(pkt:verify())
  end)

  it("don't count padding behind IP's end", function ()
    local pkt = stack.createStack("eth", "ip4", "udp")(p)
    pkt:fill{pktLength = 46}
    packet.resize(p, 60)
    p.data[59] = 0xaa
    pkt:calculateChecksums()
    assert.is_true(pkt:verify())
    local before = pkt.udp:getChecksum()
    p.data[59] = 0xbb
    pkt:calculateChecksums()
    assert.equal(before, pkt.udp:getChecksum())
  end)
end)

describe("a resolved packet", function ()
  it("is told by its bytes, whatever its length", function ()
    local p = packet.allocate()
    asVxlan(p):fill{pktLength = 160}
    asVxlan(p):calculateChecksums()
    local found = stack.resolve(p)
    assert.equal(asVxlan.getName(), found:getName())
    assert.equal(4789, found.udp:getDstPort())
    assert.equal(42 + 8, found.innerEth and tonumber(
      ffi.cast("uint8_t *", found.innerEth) - p.data))
    assert.is_true(found:verify())
    for length = 160, 0, -1 do
      p.length = length
      local cut = stack.resolve(p)
      assert.is_true(cut.shape.size <= length)
      cut:get()
      cut:getString()
      cut:verify()
    end
    packet.free(p)
  end)

  it("may have two tags", function ()
    local p = packet.allocate()
    stack.createStack({"eth", subType = "qinq"}, "ip4")(p):fill{ethouterVlanTag = 5}
    local found = stack.resolve(p)
    assert.equal(5, found.eth:getOuterVlanTag())
    assert.equal("eth_ip4", found:getName())
    packet.free(p)
  end)

  it("makes no C type", function ()
    local p = packet.allocate()
    asVxlan(p):fill{pktLength = 160}
    local function newest() return tonumber(ffi.typeof("struct { int x; }")) end
    local function resolve_all()
      for length = 160, 0, -1 do
        p.length = length
        local found = stack.resolve(p)
        found:get()
        found:getString()
        found:verify()
      end
    end
    resolve_all()
    local first = newest()
    local step = newest() - first
    resolve_all()
    assert.equal(2 * step, newest() - first)
    packet.free(p)
  end)

  it("can be cast to the stack of its own headers", function ()
    local p = packet.allocate()
    asVxlan(p):fill{pktLength = 160, tcpDst = 99}
    local args = asVxlan.getArgs()
    local pkt = stack.createStack("eth")(p):resolveLastHeader()
    assert.equal(asVxlan.getName(), pkt:getName())
    assert.equal(99, pkt.tcp:getDstPort())
    assert.same(args, asVxlan.getArgs())
    packet.free(p)
  end)
end)

describe("every ready cast of libmoon", function ()
  it("fills, checks, resolves and dumps", function ()
    local p = packet.allocate()
    local nowhere = {write = function () end}
    local n = 0
    local casts, former = require("lib.stack.packet.ready_casts"),
      "lib.stack.ready_casts"
    assert.equal(casts, require(former))
    for name, as in pairs(casts) do
      p.length, n = 0, n + 1
      local pkt = as(p)
      pkt:fill{}
      pkt:calculateChecksums()
      local ok, problems = pkt:verify()
      assert.is_true(ok, name .. ": " .. table.concat(problems or {}, "; "))
      assert.is_truthy(as.check(p), name)
      assert.equal(as.getName(), stack.resolve(p):getName())
      assert.is_string(pkt:dump(nil, nowhere))
    end
    assert.is_true(n >= 35)
    packet.free(p)
  end)
end)

describe("a resolved packet's own methods", function ()
  it("set lengths and checksums as a stack's do", function ()
    local p = packet.allocate()
    local pkt = asVxlan(p)
    pkt:fill{pktLength = 160}
    pkt:setLength(150)
    pkt:calculateChecksums()
    local right = hex(p)
    pkt:fill{pktLength = 160}
    local found = stack.resolve(p)
    found:setLength(150)
    found:calculateChecksums()
    assert.equal(right, hex(p))
    packet.free(p)
  end)
end)

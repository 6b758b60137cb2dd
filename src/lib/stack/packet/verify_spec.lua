-- SPDX-License-Identifier: Apache-2.0
-- What resolve and verify say of headers that contradict one another, and of bytes
-- behind what IP tells of.

local packet = require("core.packet")
local stack = require("lib.stack")

local p
before_each(function ()
  p = packet.allocate()
  p.length = 0
end)
after_each(function () packet.free(p) end)

describe("headers that contradict one another", function ()
  -- What is wrong with the stack's packet once `change` was at it: by resolve, and the
  -- sentences of verify.
  local function wrong(change, ...)
    local pkt = stack.createStack(...)(p)
    pkt:fill{pktLength = 120}
    pkt:calculateChecksums()
    assert.is_true(stack.resolve(p):verify())
    change(pkt)
    local view = stack.resolve(p)
    local ok, sentences = view:verify()
    assert.is_false(ok)
    return view.problem, view:getName(), table.concat(sentences, "; ")
  end

  local function is_told(sentence, names, change, ...)
    local problem, found, said = wrong(change, ...)
    assert.equal(sentence, problem)
    assert.equal(names, found)
    assert.matches(sentence, said, 1, true)
  end

  it("are told: another version than the EtherType's", function ()
    is_told("IPv4: its Version is 6, not 4", "eth",
      function (pkt) pkt.ip4:setVersion(6) end, "eth", "ip4", "udp")
    is_told("IPv6: its Version is 4, not 6", "eth",
      function (pkt) pkt.ip6:setVersion(4) end, "eth", "ip6", "udp")
    is_told("IPv4: its Version is 6, not 4", "eth",
      function (pkt) pkt.eth:setType(0x0800) end, "eth", "ip6", "udp")
    is_told("IPv6: its Version is 4, not 6", "eth",
      function (pkt) pkt.eth:setType(0x86dd) end, {"eth", subType = "vlan"}, "ip4")
  end)

  it("are told: in tunnels", function ()
    is_told("IPv6: its Version is 4, not 6", "eth_ip4",
      function (pkt) pkt.ip4:setProtocol(41) end, "eth", "ip4", {"ip4", name = "inner"})
    is_told("IPv4: its Version is 0, not 4", "eth_pppoe_ppp",
      function (pkt) pkt.ip4:setVersion(0) end, "eth", "pppoe", "ppp", "ip4")
    is_told("IPv6: its Version is 15, not 6", "eth_ip4_gre",
      function (pkt) pkt.ip6:setVersion(15) end, "eth", "ip4", "gre", "ip6")
  end)

  it("are told: a header length that is less than the header", function ()
    is_told("IPv4: its HeaderLength is 4, less than the header has", "eth",
      function (pkt) pkt.ip4:setHeaderLength(4) end, "eth", "ip4", "udp")
    is_told("TCP: its DataOffset is 0, less than the header has", "eth_ip4",
      function (pkt) pkt.tcp:setDataOffset(0) end, "eth", "ip4", "tcp")
  end)

  it("are told by packets under a stack's type, too", function ()
    local pkt = stack.createStack("eth", "ip4", "udp")(p)
    pkt:fill{}
    pkt:calculateChecksums()
    pkt.ip4:setVersion(6)
    local ok, sentences = pkt:verify()
    assert.is_false(ok)
    assert.equal("eth: what follows is unknown, not ip4", sentences[1])
    assert.equal("ip4: Version is 6, not 4", sentences[2])
  end)

  it("aren't what may just be unknown", function ()
    local pkt = stack.createStack("eth", "ip4", "gre")(p)
    pkt:fill{}
    pkt:calculateChecksums()
    pkt.gre:setVersion(1) -- PPTP's
    assert.is_nil(stack.resolve(p).problem)
    p.length = 34 -- nothing behind IP
    pkt.ip4:setProtocol(253)
    pkt:setLength(34)
    pkt:calculateIp4Checksum()
    assert.is_nil(stack.resolve(p).problem)
  end)
end)

describe("bytes behind IP's end", function ()
  local SHAPES = {{"eth", "ip4", "tcp"}, {"eth", "ip6", "udp"},
    {"eth", "ip4", "udp", "dns"}, {{"eth", subType = "vlan"}, "ip4", "icmp", "echo"},
    {"eth", "pppoe", "ppp", "ip4"}}

  it("are all right, however many", function ()
    for _, shape in ipairs(SHAPES) do
      for _, trailer in ipairs{1, 4, 6, 100, 1400} do
        p.length = 0
        local as = stack.createStack(unpack(shape))
        as(p):fill{}
        as(p):calculateChecksums()
        packet.resize(p, math.max(p.length, 70) + trailer)
        p.data[p.length - 1] = 0x77
        assert.is_true(as(p):verify())
        assert.is_true(stack.resolve(p):verify())
        assert.is_truthy(as.check(p))
      end
    end
  end)

  it("don't belong to what lies within", function ()
    local as = stack.createStack("eth", "ip4", "udp")
    as(p):fill{pktLength = 100}
    as(p).ip4:setLength(60)
    as(p):calculateChecksums()
    local ok, sentences = as(p):verify()
    assert.is_false(ok)
    assert.equal("udp: Length is 66, not 40", sentences[1])
    as(p).udp:setLength(40)
    as(p):calculateChecksums()
    assert.is_true(as(p):verify())
  end)

  it("aren't those that headers need", function ()
    local as = stack.createStack("eth", "ip4", "udp")
    as(p):fill{pktLength = 100, ip4Length = 27}
    as(p):calculateChecksums()
    assert.equal("ip4: Length is 27, not 86", select(2, as(p):verify())[1])
    as(p):fill{pktLength = 100, ip4Length = 87}
    as(p):calculateChecksums()
    assert.equal("ip4: Length is 87, not 86", select(2, as(p):verify())[1])
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
-- Flags are booleans, as in libmoon; what follows IP is named as libmoon names it; and
-- headers get the address that those above them are sent to.

local packet = require("core.packet")
local stack = require("lib.stack")

local TCP_FLAGS = {"Cwr", "Ece", "Urg", "Ack", "Psh", "Rst", "Syn", "Fin"}

describe("a flag", function ()
  local p, pkt
  before_each(function ()
    p = packet.allocate()
    pkt = stack.createStack("eth", "ip4", "tcp")(p)
    pkt:fill{}
  end)
  after_each(function () packet.free(p) end)

  it("is read as true or false", function ()
    for i, name in ipairs(TCP_FLAGS) do
      pkt.tcp:setFlags(2 ^ (8 - i))
      for _, other in ipairs(TCP_FLAGS) do
        assert.equal(name == other, pkt.tcp["get" .. other](pkt.tcp))
        assert.equal(name == other, pkt:get()["tcp" .. other])
        assert.equal(name == other, stack.resolve(p):get()["tcp" .. other])
      end
      assert.equal("1", pkt.tcp["get" .. name .. "String"](pkt.tcp))
    end
  end)

  it("is set by booleans and numbers, and by no value", function ()
    local tcp = pkt.tcp
    for _, set in ipairs{true, 1} do
      tcp:setSyn(set)
      assert.equal(0x02, tcp:getFlags())
      tcp:setSyn(set == true and false or 0)
      assert.equal(0, tcp:getFlags())
    end
    tcp:setSyn()
    tcp:setAck()
    tcp:unsetSyn()
    assert.equal(0x10, tcp:getFlags())
    pkt:fill{tcpSyn = true, tcpAck = 1, tcpFin = false, tcpPsh = 0}
    assert.equal(0x12, pkt.tcp:getFlags())
  end)

  it("is so in compiled loops", function ()
    local count = 0
    for i = 1, 1000 do
      pkt.tcp:setSyn(i % 2 == 0)
      if pkt.tcp:getSyn() then count = count + 1 end
    end
    assert.equal(500, count)
  end)

  it("may be a condition of a definition", function ()
    stack.define{name = "flagged", fields = {{"On", 1, "flag"}, {"Rest", 7}},
      over = {udp = 7778}, when = {On = 1}}
    local as = stack.createStack("eth", "ip4", "udp", "flagged")
    as(p):fill{}
    assert.is_true(as(p).flagged:getOn())
    assert.is_truthy(as.check(p))
    assert.equal(as.getName(), stack.resolve(p):getName())
    as(p).flagged:setOn(false)
    assert.equal("flagged: its On isn't 1", select(2, as.check(p)))
    assert.equal("flagged: On is 0, not 1", select(2, as(p):verify())[2])
    stack.registry.remove("flagged")
  end)

  it("of DNS is a number, as in libmoon", function ()
    local dns = stack.createStack("eth", "ip4", "udp", "dns")(p)
    dns:fill{dnsResp = true, dnsAuthAnswer = 1}
    assert.equal(1, dns.dns:getQR())
    assert.equal(1, dns.dns:getAA())
    dns.dns:setQR(false)
    assert.equal(0, dns.dns:getQR())
  end)
end)

describe("createStack", function ()
  it("makes icmp over IPv6 ICMPv6, under its own name", function ()
    local p = packet.allocate()
    for _, under in ipairs{{"ip6"}, {"ip6", "hopopts"}} do
      local as = stack.createStack("eth", under[1], under[2] or "icmp",
        under[2] and "icmp" or "echo")
      local pkt = as(p)
      pkt:fill{icmpType = 129}
      pkt:calculateChecksums()
      assert.equal(as.getName(), stack.resolve(p):getName())
      assert.equal(129, stack.resolve(p).icmp6:getType())
      assert.is_truthy(as.check(p))
      assert.is_true(pkt:verify())
    end
    assert.equal("eth_ip6_ip4_icmp", stack.createStack("eth", "ip6", "ip4", "icmp")
      .getName())
    packet.free(p)
  end)

  it("sends LACP to the address of slow protocols", function ()
    local p = packet.allocate()
    local pkt = stack.createStack("eth", "lacp")(p)
    pkt:fill{}
    assert.equal("01:80:c2:00:00:02", pkt.eth:getDstString())
    pkt:fill{ethDst = "02:00:00:00:00:07"}
    assert.equal("02:00:00:00:00:07", pkt.eth:getDstString())
    packet.free(p)
  end)
end)

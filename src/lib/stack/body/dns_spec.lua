-- SPDX-License-Identifier: Apache-2.0
-- DNS records: what is refused, and what can't be read. (test/test_dns_records.py has
-- Scapy's view.)

local dns = require("lib.stack.body.dns")
local packet = require("core.packet")
local stack = require("lib.stack")

describe("lib.stack: DNS records", function ()
  it("are set in a packet, and read from it", function ()
    local p = packet.allocate()
    local pkt = stack.createStack("eth", "ip4", "udp", "dns")(p)
    pkt:fill{dnsQR = 1, pktLength = 300}
    local message = {
      questions = {{name = "www.example.org.", type = "A", class = "IN"}},
      answers = {
        {name = "www.example.org.", type = "CNAME", class = "IN", ttl = 60,
         data = "a\\.b.example.org."},
        {name = "a\\.b.example.org.", type = "A", class = "IN", ttl = 60,
         data = "192.0.2.1"},
      },
      authorities = {}, additionals = {},
    }
    local size = pkt.dns:setRecords(message, p.length - 42)
    assert.equal(1, pkt.dns:getQDCount())
    assert.equal(2, pkt.dns:getANCount())
    p.length = 42 + size
    pkt:setLength(p.length)
    assert.same(message, stack.resolve(p).dns:getRecords(size))
    packet.free(p)
  end)

  it("are refused with a sentence", function ()
    local p = packet.allocate()
    local pkt = stack.createStack("eth", "ip4", "udp", "dns")(p)
    pkt:fill{}
    local function refuses(sentence, message, bytes)
      local ok, err = pcall(pkt.dns.setRecords, pkt.dns, message, bytes or 512)
      assert.is_false(ok)
      assert.matches(sentence, tostring(err), 1, true)
    end
    refuses("a DNS message has no 'answer'; it has questions, answers", {answer = {}})
    refuses("a DNS name is text", {questions = {{}}})
    refuses("'AX' isn't a DNS type", {questions = {{name = "a", type = "AX"}}})
    refuses("'10.0.0' isn't an IPv4 address", {answers = {
      {name = "a", data = "10.0.0"}}})
    refuses("has a part of 64 bytes", {questions = {{name = ("a"):rep(64)}}})
    refuses("ttl of a DNS record is a number", {answers = {{name = "a", ttl = -1,
      data = "10.0.0.1"}}})
    refuses("the DNS records take 31 bytes with their header; there are 30",
      {answers = {{name = "abc", data = "10.0.0.1"}}}, 30)
    refuses("setRecords needs the number of bytes", {}, "x")
    packet.free(p)
  end)

  it("aren't read out of the message", function ()
    local message, reason = dns.read("\0\1\0\0\0\1\0\0\0\0\0\0", 12)
    assert.is_nil(message)
    assert.equal("a name leads out of it", reason)
  end)
end)

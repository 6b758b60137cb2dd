-- SPDX-License-Identifier: Apache-2.0
-- What fill does where labels overlap, and with variable parts.

local ffi = require("ffi")
local packet = require("core.packet")
local stack = require("lib.stack")

describe("fill", function ()
  local p
  before_each(function () p = packet.allocate() end)
  after_each(function () packet.free(p) end)

  it("lets a field named beside a view have the last word", function ()
    local pkt = stack.createStack("eth", "ip4", "tcp")(p)
    pkt:fill{tcpFlags = 0x12, tcpSyn = 0, tcpFin = true}
    assert.equal(0x11, pkt.tcp:getFlags())
    pkt:fill{tcpFlags = 0x12}
    assert.equal(0x12, pkt.tcp:getFlags())
  end)

  it("sets flags of optional fields, and variable parts", function ()
    local as = stack.createStack("eth", {"ip4", length = 4},
      {"gre", with = {"Key"}}, {"ip6", name = "inner"})
    local pkt = as(p)
    pkt:fill{greKey = 0x01020304, ip4Options = "\1\1\1\0"}
    assert.equal("200086dd01020304", (ffi.string(p.data + 38, 8)
      :gsub(".", function (c) return ("%02x"):format(c:byte()) end)))
    assert.equal("\1\1\1\0", pkt:get().ip4Options)
    local ok, message = pcall(pkt.fill, pkt, {ip4Options = "\1"})
    assert.is_false(ok)
    assert.matches("ip4Options takes a string of 4 bytes", message, 1, true)
  end)

  it("takes back what get gives", function ()
    local as = stack.createStack("eth", "ip6", "udp", "vxlan", {"eth", name = "e"},
      "arp")
    as(p):fill{ip6Src = "2001:db8::7", vxlanVNI = 99, arpOperation = "reply",
      pktLength = 150}
    local bytes, values = ffi.string(p.data, as.size), as(p):get()
    ffi.fill(p.data, as.size)
    as(p):fill(values)
    assert.equal(bytes, ffi.string(p.data, as.size))
    assert.equal(2, values.arpOperation)
  end)

  it("leaves a length alone that is given", function ()
    local pkt = stack.createStack("eth", "ip4", "udp")(p)
    pkt:fill{udpLength = 1, pktLength = 100}
    assert.equal(1, pkt.udp:getLength())
    assert.equal(86, pkt.ip4:getLength())
  end)
end)

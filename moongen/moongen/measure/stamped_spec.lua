-- SPDX-License-Identifier: Apache-2.0
local packet = require("core.packet")
local stamped = require("moongen.measure.stamped")
require("moongen.packets.buffer")

-- The first n bytes of a packet, in hex.
local function hex(p, n)
  return (require("ffi").string(p.data, n):gsub(".", function (c)
    return ("%02x"):format(c:byte())
  end))
end

describe("packets of MoonGen's of 2015", function ()
  local p

  before_each(function ()
    p = packet.resize(packet.allocate(), 80)
    require("ffi").fill(p.data, 80) -- it may have been another's
    packet.resize(p, 10)
  end)
  after_each(function () packet.free(p) end)

  it("are PTP over UDP", function ()
    stamped.fillPacket(p, 1234, 80)
    assert.equal(80, p.length)
    assert.equal(80, p.pkt_len)
    assert.equal("002590edbddd" .. "002590edbddd" .. "0800"
      .. "45000042" .. "00000000" .. "8011" .. "0000" .. "01020304" .. "0a000001"
      .. "04d204d2" .. "002e" .. "0000" .. "0002", hex(p, 44))
    assert.equal(0, stamped.readSeq(p))
  end)

  it("are refused where cards don't stamp them", function ()
    assert.error_matches(function () stamped.fillPacket(p, 1, 75) end,
      "at least 76 bytes, not 75")
    stamped.fillPacket(p, 1, 60, true)
    assert.equal(60, p.length)
    assert.is_nil(stamped.readSeq(p))
    assert.error_matches(function () stamped.fillPacket("x", 1) end, "a buffer")
    assert.error_matches(function () stamped.fillPacket(p, 1, "x") end, "bytes")
  end)

  it("are PTP over Ethernet", function ()
    stamped.fillL2Packet(p, 4711)
    assert.equal(60, p.length)
    assert.equal(0x88f7, p:getEthernetPacket().eth:getType())
    assert.equal(4711, stamped.readSeq(p))
    stamped.fillL2Packet(p)
    assert.is_number(stamped.readSeq(p))
  end)
end)

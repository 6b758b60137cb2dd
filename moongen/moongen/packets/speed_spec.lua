-- SPDX-License-Identifier: Apache-2.0
-- Calls that make tables and text mustn't make packet loops slow, however many there
-- are: LuaJIT gives up functions that such code calls often.

local C = require("core.native")
local packet = require("core.packet")
local utils = require("moongen.packets.utils")
require("moongen.packets.buffer")

local SLOW_CALLS, PACKETS, RUNS = 12000, 200000, 9

describe("libmoon's packets #slow", function ()
  local p

  -- The least time of a loop over packets, which is made anew.
  local function time()
    local loop = loadstring([[
      local p, incAndWrap, packets = ...
      local counter = 0
      for _ = 1, packets do
        local pkt = p:getUdpPacket()
        pkt.ip4.src:set(0x0a000001 + counter)
        pkt.udp:setSrcPort(1000 + counter)
        pkt.ip4:setTTL(pkt.ip4:getTTL())
        pkt.eth:setType(pkt.eth:getType())
        counter = incAndWrap(counter, 1000)
      end
    ]])
    local best = math.huge
    for _ = 1, RUNS do
      local began = C.pg_monotonic()
      loop(p, utils.incAndWrap, PACKETS)
      best = math.min(best, C.pg_monotonic() - began)
    end
    return best
  end

  it("stay as fast after many slow calls", function ()
    p = packet.resize(packet.allocate(), 100)
    local sink = {write = function () end}
    p:getUdpPacket():fill{pktLength = 60}
    local before = time()
    for i = 1, SLOW_CALLS do
      p:getUdpPacket():fill{pktLength = 60, ip4Dst = "10.0.0.1", udpSrc = i}
      p:getUdpPacket():get()
      p:dump(60, sink, false)
    end
    local after = time()
    packet.free(p)
    -- Interpreted, or with a function given up, it takes 100 times as long.
    assert.is_true(after < 10 * before, ("%.1f times"):format(after / before))
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
local bitmask = require("moongen.measure.bitmask")
local five_tuple = require("moongen.tables.five_tuple")
local packet = require("core.packet")
require("moongen.packets.buffer")

describe("MoonGen's create5TupleFilter", function ()
  local bufs
  -- Frames of UDP or TCP from 10.0.0.x, port 1000 + x, to 192.168.0.1, port 53.
  before_each(function ()
    bufs = {}
    for i, proto in ipairs{17, 17, 6} do
      bufs[i] = packet.from_string(("\0"):rep(12) .. "\8\0" .. "\69" .. ("\0"):rep(8)
        .. string.char(proto) .. "\0\0" .. "\10\0\0" .. string.char(i)
        .. "\192\168\0\1" .. "\3" .. string.char(0xe8 + i) .. "\0\53")
    end
    bufs[4] = packet.from_string(("\0"):rep(12) .. "\8\0")
  end)
  after_each(function () for _, p in ipairs(bufs) do packet.free(p) end end)

  local function rule(filter, change)
    local r = filter:allocateRule()
    r.proto, r.port_src_range, r.port_dst_range = 17, 65535, 65535
    for name, value in pairs(change or {}) do r[name] = value end
    return r
  end

  it("classifies by all five, priority and category", function ()
    local filter = five_tuple.create5TupleFilter(nil, nil, 2, 10)
    local values = filter:bindValuesToCategory(4, 1)
    local others = filter:bindValuesToCategory(4)
    local mask = filter:bindBitmaskToCategory(4)
    filter:addRule(rule(filter), 1, 1, 7)
    filter:addRule(rule(filter, {ip_src = 0x0a000002, ip_src_prefix = 32}), 2, 1, 8)
    filter:addRule(rule(filter, {proto = 6, port_src = 1003, port_src_range = 1003,
      ip_dst = 0xc0a8ff00, ip_dst_prefix = 16}), 1, 2, 9)
    filter:build()
    assert.equal(0, filter:classifyBurst(bufs, bitmask.createBitMask(4):setAll()))
    assert.same({7, 8, 0, 0}, {values[0], values[1], values[2], values[3]})
    assert.same({0, 0, 9, 0}, {others[0], others[1], others[2], others[3]})
    assert.same({true, true, true, false}, {mask[1], mask[2], mask[3], mask[4]})
  end)

  it("leaves alone what isn't in the mask", function ()
    local filter = five_tuple.create5TupleFilter(nil, nil, 1)
    local mask = filter:bindBitmaskToCategory(4)
    filter:addRule(rule(filter), 1, 1, 7)
    filter:build()
    filter:classifyBurst(bufs, bitmask.createBitMask(4):setN(1))
    assert.same({true, false}, {mask[1], mask[2]})
  end)

  it("refuses what it can't do", function ()
    assert.has_error(function () five_tuple.create5TupleFilter(nil, nil, 17) end)
    local filter = five_tuple.create5TupleFilter(nil, nil, 1)
    assert.has_error(function () filter:addRule(rule(filter), 1, 1, 0) end)
    assert.error_matches(function () filter:addRule({}, 1, 1, 1) end, "allocateRule")
  end)
end)

-- SPDX-License-Identifier: Apache-2.0

local datagram = require("lib.protocol.datagram")
local ethernet = require("lib.protocol.ethernet")
local ffi = require("ffi")
local guard = require("testing.fuzz.guard")
local ipv6 = require("lib.protocol.ipv6")
local packet = require("core.packet")
local udp = require("lib.protocol.udp")

local function headers()
  return ethernet:new{type = 0x86dd}, ipv6:new{next_header = 17, hop_limit = 3},
    udp:new{src_port = 5, dst_port = 6}
end

local function made(options)
  local eth, ip, u = headers()
  local d = datagram:new(nil, ethernet, options)
  d:payload("some text", 9)
  d:push(u)
  d:push(ip)
  d:push(eth)
  return d
end

local function text(d)
  local pointer, length = d:payload()
  return ffi.string(pointer, length)
end

describe("a datagram", function ()
  for name, options in pairs{["at once"] = {}, delayed = {delayed_commit = true}} do
    it("is built and parsed, " .. name, function ()
      local d = made(options)
      d:commit()
      local _, length = d:data()
      assert.equal(14 + 40 + 8 + 9, length)
      d:new(d:packet(), ethernet, options)
      local eth, ip, u = headers()
      assert.is_true(eth:eq(d:parse()))
      assert.is_true(ip:eq(d:parse()))
      assert.is_true(u:eq(d:parse()))
      assert.is_nil(d:parse())
      assert.equal(3, #d:stack())
      assert.equal("some text", text(d))
      d:unparse(2)
      assert.equal(1, #d:stack())
      assert.equal(5, d:parse_n(2):src_port())
      if not options.delayed_commit then
        assert.has_error(function () d:push(eth) end)
        assert.has_error(function () d:pop(1) end)
      end
      packet.free(d:packet())
    end)
  end

  it("takes headers off and puts others on in one commit", function ()
    local d = made{}
    d:new(d:packet(), ethernet, {delayed_commit = true})
    d:push_raw("abcd", 4)
    d:parse_n(2)
    d:pop(2)
    d:push_raw("xy", 2)
    d:commit()
    local pointer, length = d:data()
    assert.equal("xyabcd", ffi.string(pointer, 6))
    assert.equal(6 + 8 + 9, length)
    d:pop_raw(14)
    d:commit()
    pointer, length = d:data()
    assert.equal("some text", ffi.string(pointer, length))
    assert.has_error(function () d:push_raw(pointer, 513) end)
    assert.has_error(function () d:pop(1) end)
    packet.free(d:packet())
  end)

  it("parses what is asked for only", function ()
    local d = made{}
    d:new(d:packet(), ethernet)
    assert.is_nil(d:parse_match(nil, function () return false end))
    assert.equal(0, #d:stack())
    local seen = d:parse{{ethernet}, {ipv6, function (ip)
      return ip:hop_limit() == 3
    end}}
    assert.equal(17, seen:next_header())
    assert.is_nil(d:parse{{udp, function (u) return u:dst_port() == 7 end}})
    packet.free(d:packet())
  end)

  it("reads nothing outside the packet", function ()
    local d, p = made{}, guard.packet()
    local bytes = ffi.new("uint8_t[71]")
    ffi.copy(bytes, d:packet().data, 71)
    for length = 0, 71 do
      guard.place(p, bytes, length)
      local e = datagram:new(p, ethernet)
      local n = 0
      while e:parse() do n = n + 1 end
      assert.equal(length < 14 and 0 or length < 54 and 1 or length < 62 and 2 or 3, n)
      e:free()
    end
    guard.free(p)
    packet.free(d:packet())
  end)
end)

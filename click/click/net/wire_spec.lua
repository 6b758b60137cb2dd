-- SPDX-License-Identifier: Apache-2.0
local bit = require("bit")
local ffi = require("ffi")
local wire = require("click.net.wire")

describe("wire", function ()
  it("has a barrier, behind which what was written is read", function ()
    local bytes, at = ffi.new("uint8_t[16]"), ffi.new("int[1]", 8)
    local halves_t = ffi.typeof("uint16_t *")
    local wrong = 0
    for i = 1, 1000 do
      local before = ffi.cast(halves_t, bytes)[4]
      local byte = bytes + at[0] -- the same place, but LuaJIT doesn't know
      byte[0] = i % 256
      wire.barrier()
      local after = ffi.cast(halves_t, bytes)[4]
      if after ~= i % 256 or before ~= (i - 1) % 256 then wrong = wrong + 1 end
    end
    assert.equal(0, wrong)
  end)

  it("swaps", function ()
    assert.equal(0x3412, wire.swap16(0x1234))
    assert.equal(wire.word("\192\0\2\1"), wire.word_of(0xc0000201))
    assert.equal(0xc0000201, wire.number_of(wire.word("\192\0\2\1")))
    assert.equal(bit.tobit(0xffffffff), wire.word("ab\255\255\255\255", 2))
    assert.equal(wire.swap16(0x0800), wire.half("\8\0"))
  end)

  it("writes addresses of version 4", function ()
    assert.equal("255.0.1.254", wire.ip_text(0xff0001fe))
    assert.equal("10.0.0.1", wire.word_text(wire.word("\10\0\0\1")))
    assert.equal("10.0.0.0/8", wire.prefix_text(0x0a000000, 0xff000000))
    assert.equal("0.0.0.0/0", wire.prefix_text(0, 0))
    assert.equal("10.0.0.1/255.0.0.255", wire.prefix_text(0x0a000001, 0xff0000ff))
  end)

  it("writes addresses of Ethernet", function ()
    assert.equal("02-00-00-00-0A-FF", wire.eth_text("\2\0\0\0\10\255"))
  end)

  it("writes addresses of version 6", function ()
    local zeros = ("\0"):rep(15)
    assert.equal("::", wire.ip6_text(zeros .. "\0"))
    assert.equal("::0.0.0.1", wire.ip6_text(zeros .. "\1"))
    assert.equal("::ffff:10.0.0.1",
      wire.ip6_text(("\0"):rep(10) .. "\255\255\10\0\0\1"))
    assert.equal("2001:db8::1", wire.ip6_text("\32\1\13\184" .. ("\0"):rep(11) .. "\1"))
    assert.equal("ff02::", wire.ip6_text("\255\2" .. ("\0"):rep(14)))
    assert.equal("1:0:1:0:1:0:1:0", wire.ip6_text(("\0\1\0\0"):rep(4)))
    assert.equal("1::1:0:0:1:1",
      wire.ip6_text("\0\1\0\0\0\0\0\1\0\0\0\0\0\1\0\1"))
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

local bytes = require("net.wire.bytes").from_hex

-- From 10.0.0.1 port 1000 to 10.0.0.2 port 80, and back, as Scapy builds them.
local SYN = bytes[[450000280007000009069dc7 0a0000010a000002
  03e80050 fffffffe 00000000 50020200 95a90000]]
local SYN_ACK = bytes[[4500002800070000fa06acc6 0a0000020a000001
  005003e8 000f423e ffffffff 5012f000 654a0000]]
local DATA = bytes[[4500002d0008000009069dc1 0a0000010a000002
  03e80050 ffffffff 0000004d 50180200 516e0000 68656c6c6f]]
local ECHO = bytes[[4500002d00080000fa06acc0 0a0000020a000001
  005003e8 0000004d 00000004 5010f000 63710000 68656c6c6f]]
local ANSWER = bytes[[4500002f00080000fa06acbe 0a0000020a000001
  005003e8 0000004d 00000004 5011f000 d4a40000]] .. "200 OK!"
local STRIPPED = bytes[[4500002800080000fa06acc5 0a0000020a000001
  005003e8 0000004d 00000004 5010f000 a7480000]]
local FIN = bytes[[450000280009000009069dc5 0a0000010a000002
  03e80050 00000005 0000004e 50110200 95460000]]
local FIN_BACK = bytes[[4500002800090000fa06acc4 0a0000020a000001
  005003e8 0000004e 00000006 5011f000 a7440000]]

local function answer(arguments, bytes_in)
  local unit = click.unit(("TCPReflector(%s)"):format(arguments))
  assert.same({}, unit.errors)
  local out = unit:send(bytes_in)
  unit:free()
  return out[1] and out[1][2], unit
end

local function with(text, at, byte)
  return text:sub(1, at) .. string.char(byte) .. text:sub(at + 2)
end

describe("TCPReflector", function ()
  it("answers SYN, data and FIN", function ()
    assert.equal(SYN_ACK, (answer("RAND_SEQ false", SYN)))
    assert.equal(ECHO, (answer("", DATA)))
    assert.equal(FIN_BACK, (answer("", FIN)))
  end)

  it("begins with a number by chance", function ()
    local first, second = answer("", SYN), answer("", SYN)
    assert.equal(SYN_ACK:sub(29, 34), first:sub(29, 34)) -- what it acknowledges
    assert.is_true(first:sub(25, 28) ~= second:sub(25, 28))
  end)

  it("answers data with others, or with none", function ()
    assert.equal(ANSWER, (answer('DATA "200 OK!"', DATA)))
    assert.equal(STRIPPED, (answer("STRIP_PAYLOAD true", DATA)))
    assert.equal(FIN_BACK, (answer('DATA "200 OK!"', FIN)))
  end)

  it("drops what needs no answer, and what isn't TCP", function ()
    for reason, list in pairs{
      ["nothing to answer"] = {with(SYN, 33, 0x10), with(SYN, 33, 0x04),
        with(SYN, 33, 0x12), with(SYN, 33, 0xc2)},
      ["too short for TCP"] = {"", SYN:sub(1, 39), with(SYN, 0, 0x44),
        with(SYN, 0, 0x46), with(SYN, 32, 0x40), with(SYN, 32, 0x60)},
    } do
      for _, one in ipairs(list) do
        local out, unit = answer("", one)
        assert.is_nil(out)
        assert.same({[reason] = 1}, unit.lost)
      end
    end
  end)

  it("refuses DATA that no packet has room for", function ()
    assert.same({"DATA: 20000 bytes are too many for a packet"},
      click.unit(("TCPReflector(DATA %s)"):format(("x"):rep(20000))).errors)
  end)
end)

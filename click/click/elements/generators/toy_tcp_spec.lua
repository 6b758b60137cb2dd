-- SPDX-License-Identifier: Apache-2.0
-- ToyTCP, against what Click (kohler/click) sends, but for the byte of data, which is
-- any there.

local click = require("testing.click")

local FIRST = 1000000000 % 2 ^ 28 -- its first number at that time

local function number(n)
  return string.char(math.floor(n / 2 ^ 24) % 256, math.floor(n / 65536) % 256,
    math.floor(n / 256) % 256, n % 256)
end

local function segment(seq, ack, flags, payload, from)
  return "\0" .. string.char(from or 80) .. "\4\0" .. number(seq) .. number(ack)
    .. "\80" .. string.char(flags) .. "\3\232\0\0\0\0" .. (payload or "")
end

-- What it sends to port 80 then.
local function sends(seq, ack, flags, window, payload)
  return {1, "\4\0\0\80" .. number(seq) .. number(ack) .. "\80" .. string.char(flags)
    .. number(window):sub(3) .. "\0\0\0\0" .. (payload or "")}
end

local SYN, RST, ACK, SYN_ACK = 0x02, 0x04, 0x10, 0x12
local WIDE, NARROW = 61440, 30720

describe("ToyTCP", function ()
  it("connects, sends bytes, and begins anew", function ()
    local unit = click.unit("ToyTCP(80)", {time = 1e9})
    assert.same({sends(FIRST, 0, SYN, WIDE)}, unit:wait(1.5))
    assert.same({sends(FIRST, 0, SYN, WIDE)}, unit:send(segment(1, 2, ACK)))
    local other = segment(700, FIRST + 1, SYN_ACK):gsub("^(...).", "%1\1")
    assert.same({sends(FIRST, 0, SYN, WIDE)}, unit:send(other))
    local answer = segment(700, FIRST + 1, SYN_ACK)
    assert.same({sends(FIRST + 5, 701, ACK, NARROW, "\0")}, unit:send(answer))
    local data = segment(701, FIRST + 2, ACK, "abc")
    assert.same({sends(FIRST + 6, 701, ACK, WIDE, "\0")}, unit:send(data))
    assert.same({sends(FIRST + 7, 701, ACK, WIDE, "\0")}, unit:send(data))
    assert.same({sends(FIRST + 8, 701, ACK, WIDE, "\0"),
      sends(FIRST + 9, 701, ACK, NARROW, "\0")}, unit:send(data)) -- each sixth
    assert.same({sends(FIRST + 10, 701, ACK, WIDE, "\0")}, unit:send("\1\2"))
    assert.same({sends(FIRST + 11, 701, ACK, WIDE, "\0")},
      unit:send(segment(1, 1, RST + ACK)))
    assert.same({}, unit:send(data))
    assert.same({["connection was reset"] = 1}, unit.lost)
    local again = unit:wait(1)
    assert.equal(1, #again)
    assert.equal(number(FIRST + 2), again[1][2]:sub(5, 8))
    assert.equal(SYN, again[1][2]:byte(14))
    assert.same({"ToyTCP: 0 good in, 0 bad in, 1 out", "ToyTCP connected",
      "ToyTCP: RST from port 80, in 5, out 9",
      "ToyTCP: 5 good in, 1 bad in, 11 out"}, unit.said)
    unit:free()
  end)

  it("wants a port", function ()
    assert.same({"DPORT: overflow, range 0-65535"}, click.unit("ToyTCP(80000)").errors)
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
-- TCPAck and TCPBuffer, against what Click (kohler/click) makes of the same packets.

local click = require("testing.click")

local START = 2 ^ 32 - 16 -- the first number, so that others wrap

local function number(n)
  n = n % 2 ^ 32
  return string.char(math.floor(n / 2 ^ 24), math.floor(n / 65536) % 256,
    math.floor(n / 256) % 256, n % 256)
end

local FIN, SYN, RST, ACK, SYN_ACK = 0x01, 0x02, 0x04, 0x10, 0x12

local function segment(seq, ack, flags, payload)
  payload = payload or ""
  return "\69\0\0" .. string.char(40 + #payload) .. "\0\1\0\0\64\6\0\0\1\0\0\1\10\0\0\1"
    .. "\0\80\3\232" .. number(seq) .. number(ack) .. "\80" .. string.char(flags)
    .. "\3\232\0\0\0\0" .. payload
end

local function from(n, payload, flags) -- of the other side
  return segment(START + n, 6, flags or ACK, payload)
end

local function new(config) return (click.unit(config, {outputs = 1})) end

describe("TCPBuffer", function ()
  it("gives segments in the order of their numbers", function ()
    local unit = new("TCPBuffer")
    for _, s in ipairs{from(0, "", SYN_ACK), from(9, "ijkl"), from(1, "abcd"),
        from(13, "mn", ACK + FIN), from(16)} do
      assert.same({}, unit:send(s))
    end
    assert.equal(from(0, "", SYN_ACK), unit:pull())
    assert.equal(from(1, "abcd"), unit:pull())
    assert.is_nil(unit:pull())
    unit:send(from(5, "efgh"))
    assert.equal(from(5, "efgh"), unit:pull())
    assert.equal(from(9, "ijkl"), unit:pull())
    assert.equal(from(13, "mn", ACK + FIN), unit:pull())
    assert.equal(from(16), unit:pull())
    assert.is_nil(unit:pull())
    unit:free()
  end)

  it("drops what is there already, and what comes late", function ()
    local unit = new("TCPBuffer")
    unit:send(from(1, "abcd"))
    unit:send(from(1, "ABCD"))
    assert.equal(from(1, "abcd"), unit:pull())
    unit:send(from(1, "abcd"))
    unit:send("no packet")
    assert.same({["number is there already"] = 1, ["came too late"] = 1,
      ["no TCP"] = 1}, unit.lost)
    unit:free()
  end)

  it("waits for nothing with SKIP, and holds so many", function ()
    local unit = new("TCPBuffer(true)")
    unit:send(from(1, "abcd"))
    unit:send(from(9, "ijkl"))
    assert.equal(from(1, "abcd"), unit:pull())
    assert.equal(from(9, "ijkl"), unit:pull())
    for i = 0, 1024 do unit:send(from(100 + i, "x")) end
    assert.same({["queue full"] = 1}, unit.lost)
    unit.element:cleanup()
    assert.equal(0, unit.element:backlog())
    unit:free()
  end)
end)

-- A TCPAck with a buffer behind it, and one for whom each packet is put there, or also
-- pulled from there at once.
local function pair(pulls)
  local buffer = new("TCPBuffer")
  local ack = require("testing.click").unit("TCPAck(0.02)", {time = 1e9, inputs = 2,
    outputs = 3, nearest = {buffer.element}})
  assert.same({}, ack.errors)
  local function take(p)
    local out = ack:send(p, 1)
    if out[1] then
      buffer:send(out[1][2])
      while pulls and buffer:pull() do end
    end
    return out
  end
  return ack, buffer, take
end

-- The number that a packet acknowledges, from START on.
local function acked(out)
  local a, b, c, d = out[1][2]:byte(29, 32)
  return (((a * 256 + b) * 256 + c) * 256 + d - START) % 2 ^ 32
end

describe("TCPAck", function ()
  for what, pulls in pairs{["waits"] = false, ["is taken away"] = true} do
    it("acknowledges what is there in a row, where it " .. what, function ()
      local unit, buffer, take = pair(pulls)
      assert.same({}, take(from(0, "early")))
      assert.same({}, unit:send(segment(5, 0, SYN), 2))
      assert.same({["before a SYN ACK"] = 2}, unit.lost)
      local syn_ack = from(0, "", SYN_ACK)
      assert.same({{1, syn_ack}}, take(syn_ack))
      local function answer() return unit:send(segment(6, 0, ACK), 2) end
      assert.equal(1, acked(answer()))
      take(from(1, "abcd"))
      assert.equal(5, acked(answer()))
      take(from(9, "ijkl"))
      assert.equal(5, acked(answer()))
      assert.equal(1, #unit.said)
      take(from(5, "efgh"))
      assert.equal(13, acked(answer()))
      take(from(13, "mnopqrst"))
      assert.equal(21, acked(answer())) -- past 2^32
      take(from(21, "x", FIN + ACK))
      take(from(21, "", RST))
      assert.equal(21, acked(answer()))
      assert.same({2, segment(6, START + 21, ACK)}, answer()[1])
      unit:free()
      buffer:free()
      buffer.element:cleanup()
    end)
  end

  it("acknowledges alone after the delay", function ()
    local unit, buffer, take = pair(true)
    take(from(0, "", SYN_ACK))
    assert.same({}, unit:wait(1))
    take(from(1, "abcd"))
    assert.same({{3, "\69\16\0\40\0\0\64\0\255\6\0\0" .. ("\0"):rep(16)
      .. number(START + 5) .. "\80\16\125\120\0\0\0\0"}}, unit:wait(0.03))
    assert.same({}, unit:wait(1))
    take(from(5, "efgh"))
    unit:send(segment(6, 0, ACK), 2)
    assert.same({}, unit:wait(1))
    unit:free()
    buffer:free()
  end)

  it("begins with a SYN and ACK that goes out, too", function ()
    local unit, buffer = pair(true)
    unit:send(segment(5, START + 1, SYN_ACK), 2)
    assert.equal(1, acked(unit:send(segment(6, 0, ACK), 2)))
    unit:free()
    buffer:free()
  end)

  it("wants a TCPBuffer behind it", function ()
    assert.same({"need at least 1 downstream TCPBuffer"}, click.unit("TCPAck").errors)
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
-- WebGen, against what Click (kohler/click) sends with RandomSeed(7).

local bit = require("bit")
local chance = require("click.chance")
local click = require("testing.click")

local function number(n)
  return string.char(bit.band(bit.rshift(n, 24), 255), bit.band(bit.rshift(n, 16), 255),
    bit.band(bit.rshift(n, 8), 255), bit.band(n, 255))
end

local function half(n) return number(n):sub(3) end

-- A segment of 1.0.0.1 to 10.0.0.HOST, from port 80 or `from`.
local function segment(host, port, seq, ack, flags, payload, from)
  payload = payload or ""
  return "\69\0" .. half(40 + #payload) .. "\0\1\0\0\64\6\0\0\1\0\0\1\10\0\0"
    .. string.char(host) .. half(from or 80) .. half(port) .. number(seq) .. number(ack)
    .. "\80" .. string.char(flags) .. "\3\232\0\0\0\0" .. payload
end

local function word(s, at)
  local a, b, c, d = s:byte(at + 1, at + 4)
  return ((a * 256 + b) * 256 + c) * 256 + d
end

local LETTERS = {"F", "S", "R", "P", "A"}

-- "10.0.0.62.40923 > 1.0.0.1.80 S 253354563 0 DATA" for each packet.
local function lines(out)
  local list = {}
  for i, one in ipairs(out) do
    local s, letters = one[2], ""
    for k, letter in ipairs(LETTERS) do
      if bit.band(s:byte(34), 2 ^ (k - 1)) ~= 0 then letters = letters .. letter end
    end
    list[i] = ("%d.%d.%d.%d.%d > %d.%d.%d.%d.%d %s %d %d %s"):format(s:byte(13),
      s:byte(14), s:byte(15), s:byte(16), s:byte(21) * 256 + s:byte(22), s:byte(17),
      s:byte(18), s:byte(19), s:byte(20), s:byte(23) * 256 + s:byte(24), letters,
      word(s, 24), word(s, 28), s:sub(41))
  end
  return list
end

local function webgen(arguments)
  chance.seed(7)
  arguments = arguments or "10.0.0.0/24, 1.0.0.1, 10"
  local unit = click.unit(("WebGen(%s)"):format(arguments), {time = 1e9})
  assert.same({}, unit.errors)
  return unit
end

local SYN_ACK, RST, ACK, FIN_ACK, PUSH_ACK = 0x12, 0x04, 0x10, 0x11, 0x18
local A, B, C, D = 253354563, 68574097, 140642790, 143120736 -- first numbers

describe("WebGen", function ()
  it("begins connections, with the bytes of Click's", function ()
    local unit = webgen()
    local out = unit:wait(0.45)
    assert.same({
      "10.0.0.62.40923 > 1.0.0.1.80 S 253354563 0 ",
      "10.0.0.127.52624 > 1.0.0.1.80 S 68574097 0 ",
      "10.0.0.97.34889 > 1.0.0.1.80 S 140642790 0 ",
      "10.0.0.100.21528 > 1.0.0.1.80 S 143120736 0 "}, lines(out))
    assert.equal("4500002800000000fa06b5910a00003e010000019fdb00500f19e24300000000"
      .. "5002f000231b0000", (out[1][2]:gsub(".", function (c)
        return ("%02x"):format(c:byte())
      end)))
    assert.same({"Allocated 100 CBs"}, unit.said)
    unit:free()
  end)

  it("asks for a page, and closes", function ()
    local unit = webgen()
    unit:wait(0.45)
    local function answer(...) return lines(unit:send(segment(62, 40923, ...))) end
    assert.same({"10.0.0.62.40923 > 1.0.0.1.80 FPA 253354564 5001 "
      .. "GET /spec/2/2-1-0 HTTP/1.0\r\n\r\n"}, answer(5000, A + 1, SYN_ACK))
    assert.same({}, answer(5001, A + 32, ACK))
    assert.same({"10.0.0.62.40923 > 1.0.0.1.80 A 253354595 5016 "},
      answer(5001, A + 32, PUSH_ACK, "HTTP/1.0 200 OK"))
    assert.same({"10.0.0.62.40923 > 1.0.0.1.80 FA 253354595 5017 "},
      answer(5016, A + 32, FIN_ACK))
    assert.same({"10.0.0.62.40923 > 1.0.0.1.80 R 253354595 5016 "},
      answer(5016, A + 32, FIN_ACK)) -- it is no more
    unit.element:cleanup()
    assert.equal("init: 4  comp:     1  tmo:     0  rst:     0", unit.said[2])
    unit:free()
  end)

  it("bears numbers that wrap, and servers that say what can't be", function ()
    local unit = webgen()
    unit:wait(0.45)
    local page = "10.0.0.127.52624 > 1.0.0.1.80 FPA 68574098 4294967295 "
      .. "GET /spec/0/0-0-4 HTTP/1.0\r\n\r\n"
    assert.same({page}, lines(unit:send(segment(127, 52624, -2, B + 1, SYN_ACK))))
    assert.same({page}, lines(unit:send(segment(127, 52624, -1, B + 11, PUSH_ACK,
      "abcdef"))))
    assert.same({"10.0.0.100.21528 > 1.0.0.1.80 S 143120736 0 "}, -- a wrong number
      lines(unit:send(segment(100, 21528, 7, D + 9, SYN_ACK))))
    assert.same({"10.0.0.100.21528 > 1.0.0.1.81 R 1 0 "},
      lines(unit:send(segment(100, 21528, 0, 1, ACK, "", 81))))
    assert.same({}, unit:send(segment(97, 34889, 7, C + 1, RST + ACK)))
    assert.same({}, unit:send(segment(97, 34889, 7, C + 1, RST + ACK)))
    assert.equal(2, unit.lost["is or follows a RST"])
    for _, bytes in ipairs{"", ("\69"):rep(39), "\69\0\0\39" .. ("\0"):rep(40),
        "\79\0\0\60" .. ("\0"):rep(36), "\65\0\0\40" .. ("\0"):rep(36)} do
      assert.same({}, unit:send(bytes))
    end
    assert.equal(5, unit.lost["too short for TCP"])
    unit:free()
  end)

  it("sends again each second, and gives up", function ()
    local unit = webgen("10.0.0.0/24, 1.0.0.1, 1")
    local syns = 0
    for _ = 1, 12 do
      for _, line in ipairs(lines(unit:wait(1))) do
        if line:find("^10%.0%.0%.62%.40923 ") then syns = syns + 1 end
      end
    end
    assert.equal(7, syns) -- six times again
    assert.same({"Allocated 10 CBs", "init: 5  comp:     0  tmo:     0  rst:     0",
      "init: 5  comp:     0  tmo:     3  rst:     0"}, unit.said)
    unit:free()
  end)

  it("has so many at once, and wants a rate", function ()
    local unit = webgen("10.0.0.0/24, 1.0.0.1, 1")
    unit.element.free = 1
    unit:wait(2.5)
    assert.same({"Allocated 10 CBs", "out of available CBs"}, unit.said)
    unit:free()
    assert.same({"RATE: out of range, bound 1"},
      click.unit("WebGen(10.0.0.0/24, 1.0.0.1, 0)").errors)
  end)
end)

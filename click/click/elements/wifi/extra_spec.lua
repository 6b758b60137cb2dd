-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")
local wifi = require("click.net.wifi")
local bytes_of = require("testing.support").bytes_of

-- The packet with what comes of it through elements, one behind the other.
local function through(p, ...)
  for _, text in ipairs{...} do
    local unit = click.unit(text)
    p = unit:pass(p)
  end
  return p
end

local function fresh(bytes)
  local p = packet.from_string(bytes)
  note.clear(p)
  return p
end

-- As Click writes it: rate 22, 12 tries, power 63.
local EXTRA = "\1\32\73\7\0\0\0\0" .. "\0\0\63\0" .. "\22\0\0\0" .. "\12\0\0\0"
  .. "\0\0\0\0"

describe("The annotation of wireless frames", function ()
  it("is written, and put before the frame", function ()
    assert.equal(EXTRA .. "frame", bytes_of(through(fresh("frame"), "SetTXRate(22)",
      "SetTXPower(63)", "ExtraEncap")))
  end)

  it("is taken from there", function ()
    local p = through(fresh(EXTRA .. "frame"), "ExtraDecap")
    local extra, words = wifi.extra(p)
    assert.same({wifi.MAGIC, 22, 63, 12}, {words[0], extra[wifi.RATE],
      extra[wifi.POWER], extra[wifi.TRIES]})
    assert.equal("frame", bytes_of(p))
    for _, other in ipairs{"", EXTRA:sub(1, 23), "x" .. EXTRA} do
      assert.equal(other, bytes_of(through(fresh(other), "ExtraDecap")))
    end
  end)

  it("makes a radiotap header", function ()
    assert.equal("\0\0\14\0\4\132\2\0" .. "\4\63\0\0\2\0" .. "frame",
      bytes_of(through(fresh("frame"), "SetTXRate(4, TRIES 3)", "SetTXPower(63)",
        "RadiotapEncap")))
    local p = fresh("")
    local _, words = wifi.extra(p)
    words[1] = wifi.NO_ACK
    assert.equal("\0\0\14\0\4\132\2\0" .. "\0\0\8\0\12\0",
      bytes_of(through(p, "RadiotapEncap")))
  end)
end)

describe("SetRTS and SetNoAck", function ()
  it("write flags", function ()
    local p = through(fresh(""), "SetRTS(true)", "SetNoAck")
    local _, words = wifi.extra(p)
    assert.same({wifi.MAGIC, 0x280}, {words[0], words[1]})
    p = through(p, "SetRTS(false)")
    assert.equal(0x200, words[1])
    packet.free(p)
    local unit = click.unit("SetRTS(false)")
    unit:write("rts", "true")
    assert.is_true(unit:read("rts"))
  end)
end)

describe("SetTXRate", function ()
  it("is only for frames of a type, if it has one", function ()
    local function rate(bytes)
      local p = through(fresh(bytes), "SetTXRate(ETHTYPE 0x0800, OFFSET 2)")
      local found = (wifi.extra(p))[wifi.RATE]
      packet.free(p)
      return found
    end
    local start = ("x"):rep(14)
    assert.same({2, 0, 0}, {rate(start .. "\8\0"), rate(start .. "\8\1"),
      rate(start .. "\8")})
  end)

  it("is changed by handlers", function ()
    local unit = click.unit("SetTXRate(2)")
    unit:write("rate", "11")
    unit:write("tries", "3")
    assert.same({11, 3}, {unit:read("rate"), unit:read("tries")})
    assert.same({"TRIES must be >= 0"}, click.unit("SetTXRate(2, TRIES 0)").errors)
  end)
end)

describe("WifiSeq", function ()
  it("numbers frames", function ()
    local unit = click.unit("WifiSeq")
    local frame = ("x"):rep(25)
    assert.same({{1, frame:sub(1, 22) .. "\0\0x"}}, unit:send(frame))
    assert.same({{1, frame:sub(1, 22) .. "\16\0x"}}, unit:send(frame))
    assert.same({{1, frame:sub(1, 24)}}, unit:send(frame:sub(1, 24)))
    assert.equal(2, unit:read("seq"))
    unit:write("reset")
    assert.equal(0, unit:read("seq"))
    unit:free()
    unit = click.unit("WifiSeq(OFFSET 1, BYTES 4, SHIFT 8)")
    unit:write("seq", "257")
    assert.same({{1, "x\0\1\1\0x"}}, unit:send("xxxxxx"))
    assert.same({"BYTES must be either 2 or 4"}, click.unit("WifiSeq(BYTES 3)").errors)
    unit:free()
  end)
end)

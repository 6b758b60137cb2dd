-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")
local wifi = require("click.net.wifi")
local wireless = require("testing.wireless")

-- A packet with these flags in its annotation.
local function flagged(flags)
  local p = packet.from_string("frame")
  note.clear(p)
  local _, words = wifi.extra(p)
  words[0], words[1] = wifi.MAGIC, flags
  return p
end

describe("A filter of wireless frames", function ()
  it("goes by the annotation's flags, or those before the frame", function ()
    for name, flag in pairs{FilterTX = wifi.TX, FilterPhyErr = wifi.RX_BAD} do
      local unit = click.unit(name, {outputs = 2})
      assert.same({{2, "frame"}}, unit:send(flagged(flag)))
      assert.same({{1, "frame"}}, unit:send(flagged(0xffff - flag)))
      local before = "\1\32\73\7" .. string.char(flag) .. "\0\0\0"
      assert.same({{2, before}}, unit:send(before))
      assert.same({{1, "\1\32\73\7"}}, unit:send("\1\32\73\7"))
      assert.same({{1, ""}}, unit:send(""))
      assert.equal(2, unit:read("drops"))
      unit:free()
    end
  end)

  it("drops what it takes out, where there is no second output", function ()
    local unit = click.unit("FilterFailures")
    assert.same({}, unit:send(flagged(wifi.TX_FAILED)))
    assert.same({["wasn't sent"] = 1}, unit.lost)
  end)
end)

describe("WifiDupeFilter", function ()
  local function frame(second, sequence, from)
    return wireless.header(wifi.DATA, second, wireless.POINT, from or wireless.STATION,
      wireless.OTHER, sequence) .. "x"
  end

  local function passes(unit, bytes) return #unit:send(bytes) == 1 end

  it("drops what is repeated", function ()
    local unit = click.unit("WifiDupeFilter(DEBUG true)")
    assert.is_true(passes(unit, frame(0, 0x1230)))
    assert.is_true(passes(unit, frame(0, 0x1230))) -- which doesn't say so
    assert.is_false(passes(unit, frame(wifi.RETRY, 0x1230)))
    assert.is_true(passes(unit, frame(wifi.RETRY, 0x1230, wireless.OTHER)))
    assert.is_true(passes(unit, frame(wifi.RETRY, 0x1240)))
    assert.same({"e :: WifiDupeFilter: dup seq 291 frag 0 src 02-00-00-00-00-01"},
      unit.said)
    assert.equal("02-00-00-00-00-01 packets 0 dupes 1 seq 292 frag 0\n"
      .. "02-00-00-00-00-02 packets 0 dupes 0 seq 291 frag 0\n", unit:read("stats"))
    assert.same({["came before"] = 1}, unit.lost)
    unit:write("reset")
    assert.same({0, ""}, {unit:read("dupes"), unit:read("stats")})
    unit:free()
  end)

  it("lets further fragments pass, frames to groups and short ones", function ()
    local unit = click.unit("WifiDupeFilter")
    assert.is_true(passes(unit, frame(wifi.MORE_FRAGMENTS, 0x1230)))
    assert.is_true(passes(unit, frame(wifi.RETRY, 0x1231)))
    assert.is_false(passes(unit, frame(wifi.RETRY, 0x1231)))
    local group = wireless.header(wifi.DATA, wifi.RETRY, wifi.ALL, wireless.STATION,
      wireless.POINT, 0x1231)
    assert.is_true(passes(unit, group))
    assert.is_true(passes(unit, group:sub(1, 23)))
    unit:free()
  end)

  it("knows so many senders", function ()
    local unit = click.unit("WifiDupeFilter")
    for i = 0, 4196 do
      unit:send(frame(0, 0, "\2\0\0\0" .. wifi.little16(i)))
    end
    local _, n = unit:read("stats"):gsub("\n", "")
    assert.equal(4096, n)
    unit:free()
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
local bit = require("bit")
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")
local packet_bytes = require("testing.packet_bytes")

local changed = packet_bytes.changed

-- Scapy: IP(src="10.0.0.1", dst="192.0.2.9", proto=9)/"data"
local GOOD = "\69\0\0\24\0\1\0\0\64\9\174\210\10\0\0\1\192\0\2\9"
-- the same with options=[IPOption_NOP()] * 3 + [IPOption_EOL()]
local OPTIONS = "\70\0\0\28\0\1\0\0\64\9\171\205\10\0\0\1\192\0\2\9\1\1\1\0"

-- With the checksum made right.
local function summed(text)
  text = text:sub(1, 10) .. "\0\0" .. text:sub(13)
  local sum, header = 0, bit.band(text:byte(1), 15) * 4
  for i = 1, header, 2 do sum = sum + text:byte(i) * 256 + text:byte(i + 1) end
  sum = sum % 65535
  sum = sum == 0 and 0 or 65535 - sum
  return text:sub(1, 10) .. string.char(math.floor(sum / 256), sum % 256)
    .. text:sub(13)
end

local function lost(unit, text)
  assert.same({}, unit:send(text))
  local reason = next(unit.lost)
  unit.lost = {}
  return reason
end

describe("CheckIPHeader", function ()
  it("lets good packets pass, cuts and annotates them", function ()
    local unit = click.unit("CheckIPHeader()")
    local p = unit:pass(GOOD .. "data and padding")
    assert.equal(24, p.length)
    assert.equal(p.data_off, p.note16[note.NETWORK_HEADER])
    assert.equal(p.data_off + 20, p.note16[note.TRANSPORT_HEADER])
    local at = note.DST_IP * 4
    assert.same({192, 0, 2, 9}, {p.note8[at], p.note8[at + 1], p.note8[at + 2],
      p.note8[at + 3]})
    packet.free(p)
    p = unit:pass(OPTIONS .. "data")
    assert.equal(28, p.length)
    assert.equal(p.data_off + 24, p.note16[note.TRANSPORT_HEADER])
    packet.free(p)
    assert.equal("2", unit:read("count"))
  end)

  it("drops the others, and says why", function ()
    local unit = click.unit("CheckIPHeader(VERBOSE true, DETAILS true)")
    local packets = {
      {"tiny packet", ""}, {"tiny packet", GOOD:sub(1, 19)},
      {"bad IPv4 version", changed(GOOD, 0, 0x65) .. "data"},
      {"bad IPv4 header length", changed(GOOD, 0, 0x44) .. "data"},
      {"bad IPv4 length", GOOD .. "dat"},
      {"bad IPv4 length", summed(changed(GOOD, 3, 19)) .. "data"},
      {"bad IPv4 length", summed(changed(GOOD, 2, 1)) .. "data"},
      {"bad IPv4 length", changed(GOOD, 0, 0x4f) .. "data"},
      {"bad IPv4 checksum", changed(GOOD, 8, 63) .. "data"},
      {"bad IPv4 checksum", changed(OPTIONS, 20, 7) .. "data"},
    }
    for i, test in ipairs(packets) do
      assert.equal(test[1], lost(unit, test[2]))
      assert.equal("e: IP header check failed: " .. test[1], unit.said[i])
    end
    assert.equal("10", unit:read("drops"))
    assert.equal("              4 packets due to:          bad IPv4 length",
      unit:read("drop_details"):match("[^\n]*IPv4 length"))
  end)

  it("says it once, if not told otherwise, and has a second output", function ()
    local unit = click.unit("CheckIPHeader(14)", {outputs = 2})
    local frame = ("e"):rep(14) .. changed(GOOD, 8, 63) .. "data"
    assert.same({{2, frame}, }, unit:send(frame))
    assert.same({{2, frame}, }, unit:send(frame))
    assert.equal(1, #unit.said)
    assert.same({{1, ("e"):rep(14) .. GOOD .. "data"}},
      unit:send(("e"):rep(14) .. GOOD .. "datapad"))
    assert.same({{2, ("e"):rep(13)}}, unit:send(("e"):rep(13)))
    unit:free()
  end)

  it("knows wrong checksums from right ones, with and without options", function ()
    local unit = click.unit("CheckIPHeader()")
    for round = 1, 300 do
      local bytes = {}
      for i = 1, 24 do bytes[i] = string.char(math.random(0, 255)) end
      local options = round % 2
      local text = string.char(69 + options, 0, 0, 20 + 4 * options)
        .. table.concat(bytes, "", 1, 16 + 4 * options)
      local right = summed(text)
      packet.free(unit:pass(right))
      local at = math.random(4, #text - 1)
      local wrong = changed(right, at, bit.bxor(right:byte(at + 1), math.random(255)))
      -- Both halves of ones and of zeros are 0.
      if summed(wrong) ~= wrong then
        assert.equal("bad IPv4 checksum", lost(unit, wrong))
      end
    end
    -- What adds up to zero in other ways than all ones.
    assert.equal("bad IPv4 checksum",
      lost(unit, changed(summed(GOOD .. "data"), 11, 209)))
  end)

  it("checks sources against interfaces", function ()
    local unit = click.unit("CheckIPHeader(INTERFACES 10.0.0.9/24 192.0.2.9/28)")
    local function from(last, destination)
      return summed(changed(changed(GOOD, 15, last), 19, destination or 8)) .. "data"
    end
    assert.equal(1, #unit:send(from(1)))
    assert.equal("bad source address", lost(unit, from(255)))
    assert.equal(1, #unit:send(from(255, 9))) -- it is for us
    assert.equal("bad source address",
      lost(unit, summed(GOOD:sub(1, 12) .. "\0\0\0\0\1\2\3\4") .. "data"))
    assert.equal("bad source address",
      lost(unit, summed(GOOD:sub(1, 12) .. "\255\255\255\255\1\2\3\4") .. "data"))
    unit:free()
  end)

  it("checks sources against lists", function ()
    local function passes(config, source)
      local unit = click.unit("CheckIPHeader(" .. config .. ")")
      assert.same({}, unit.errors)
      local n = #unit:send(summed(GOOD:sub(1, 12) .. source .. "\192\0\2\9") .. "data")
      unit:free()
      return n == 1
    end
    assert.is_false(passes("BADSRC 10.0.0.1 10.0.0.2", "\10\0\0\2"))
    assert.is_true(passes("BADSRC 10.0.0.1 10.0.0.2", "\0\0\0\0"))
    assert.is_true(passes("BADSRC 10.0.0.1, GOODDST 192.0.2.9", "\10\0\0\1"))
    assert.is_false(passes("10.0.0.1 10.0.0.2", "\10\0\0\2")) -- the old form
    assert.is_false(passes("10.0.0.1 10.0.0.2", "\0\0\0\0"))
    local many = {}
    for i = 1, 20 do many[i] = "10.0.0." .. i end
    assert.is_false(passes("BADSRC " .. table.concat(many, " "), "\10\0\0\20"))
    assert.is_true(passes("BADSRC " .. table.concat(many, " "), "\10\0\0\21"))
  end)

  it("leaves the checksum unchecked if told so, as CheckIPHeader2 does", function ()
    for _, name in ipairs{"CheckIPHeader(CHECKSUM false)", "CheckIPHeader2()"} do
      local unit = click.unit(name)
      assert.equal(1, #unit:send(changed(GOOD, 8, 63) .. "data"))
      assert.equal(0, #unit:send(changed(GOOD, 0, 0x65) .. "data"))
      unit:free()
    end
  end)

  it("counts packets that are pulled, too", function ()
    for _, pull in ipairs{false, true} do
      local unit = click.unit("CheckIPHeader()", {pull = pull})
      unit:send(GOOD .. "data")
      unit:send("short")
      unit:send(GOOD .. "data")
      assert.same({"2", "1"}, {unit:read("count"), unit:read("drops")})
      unit:free()
    end
  end)

  it("checks its arguments", function ()
    assert.same({"too many arguments"},
      click.unit("CheckIPHeader(10.0.0.1, 14, 5)").errors)
    assert.same({"BADSRC: parse error"}, click.unit("CheckIPHeader(nonsense)").errors)
    assert.same({"FOO: unknown argument"}, click.unit("CheckIPHeader(FOO 1)").errors)
  end)
end)

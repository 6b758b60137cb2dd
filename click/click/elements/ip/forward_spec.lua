-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local note = require("click.note")
local packet_bytes = require("testing.packet_bytes")

local changed, is_sound = packet_bytes.changed, packet_bytes.is_sound

-- Scapy: IP(src="10.0.0.1", dst="192.0.2.9", proto=9)/"data"
local PLAIN = "\69\0\0\24\0\1\0\0\64\9\174\210\10\0\0\1\192\0\2\9data"
-- IP(src="10.0.0.1", dst="10.0.0.2", proto=9, options=...)/"data!"
-- IPOption_RR(routers=["0.0.0.0", "0.0.0.0"])
local RECORD = "\72\0\0\37\0\1\0\0\64\9\88\194\10\0\0\1\10\0\0\2"
  .. "\7\11\4\0\0\0\0\0\0\0\0\0data!"
-- IPOption(b"\x44\x0c\x05\x01" + bytes(8))
local TIMES = "\72\0\0\37\0\1\0\0\64\9\26\192\10\0\0\1\10\0\0\2"
  .. "\68\12\5\1\0\0\0\0\0\0\0\0data!"

local function noted(text, change)
  local p = packet_bytes.noted(text)
  if change then change(p) end
  return p
end

describe("DecIPTTL", function ()
  it("counts down, and drops what has expired", function ()
    local unit = click.unit("DecIPTTL")
    assert.same({{1, changed(changed(PLAIN, 8, 63), 10, 175, 210)}},
      unit:send(noted(PLAIN)))
    assert.same({}, unit:send(noted(changed(PLAIN, 8, 1))))
    assert.same({}, unit:send(noted(changed(PLAIN, 8, 0))))
    assert.same({expired = 2}, unit.lost)
    assert.equal("2", unit:read("drops"))
    unit:free()
  end)

  it("keeps the checksum right for any TTL", function ()
    local unit, set, wrong = click.unit("DecIPTTL"), click.unit("SetIPChecksum"), nil
    for ttl = 2, 255 do
      for _, id in ipairs{0, 0x3e, 0x3f, 0x40, 0xad, 0xae, 0xaf, 255} do
        local text = changed(changed(PLAIN, 8, ttl), 4, id)
        local out = unit:send(set:pass(noted(text)))[1][2]
        if not is_sound(out) or out:byte(9) ~= ttl - 1 then wrong = ttl end
      end
    end
    assert.is_nil(wrong)
    unit:free()
  end)

  it("changes any checksum as RFC 1624 says", function ()
    local unit, wrong = click.unit("DecIPTTL"), {}
    for sum = 0, 0xffff, 1 do
      if sum < 4 or sum > 0xfefc or sum % 97 == 0 then
        local text = changed(PLAIN, 10, math.floor(sum / 256), sum % 256)
        local out = unit:send(noted(text))[1][2]
        unit:free()
        local s = 0xffff - sum + 0xffff - 0x0100 -- ~HC + ~m + m'
        s = s % 0x10000 + math.floor(s / 0x10000)
        local got = out:byte(11) * 256 + out:byte(12)
        if got ~= 0xffff - s then wrong[#wrong + 1] = sum end
      end
    end
    assert.same({}, wrong)
  end)

  it("leaves groups or everything alone if told so", function ()
    local group = changed(PLAIN, 16, 224)
    local unit = click.unit("DecIPTTL(MULTICAST false)", {outputs = 2})
    assert.same({{1, group}}, unit:send(noted(group)))
    assert.same({{2, changed(PLAIN, 8, 1)}}, unit:send(noted(changed(PLAIN, 8, 1))))
    unit:write("active", "false")
    assert.same({{1, PLAIN}}, unit:send(noted(PLAIN)))
    assert.equal(false, unit:read("active"))
    unit:free()
  end)

  it("drops what has no header", function ()
    local unit = click.unit("DecIPTTL", {outputs = 2})
    assert.same({}, unit:send(noted(PLAIN:sub(1, 19))))
    assert.same({}, unit:send(noted(PLAIN, function (p)
      p.note16[note.NETWORK_HEADER] = 0
    end)))
    assert.same({["no IP header"] = 2}, unit.lost)
  end)
end)

describe("FixIPSrc", function ()
  local function marked(p) p.note8[note.FIX_IP_SRC] = 1 end

  it("sets the source of what is marked", function ()
    local unit = click.unit("FixIPSrc(192.0.2.1)")
    assert.same({{1, PLAIN}}, unit:send(noted(PLAIN)))
    local out = unit:send(noted(PLAIN, marked))[1][2]
    assert.equal("\192\0\2\1", out:sub(13, 16))
    assert.is_true(is_sound(out))
    assert.equal(0, unit.packets[2].note8[note.FIX_IP_SRC])
    assert.same({}, unit:send(noted(changed(PLAIN, 0, 0x4f), marked)))
    assert.same({}, unit:send(noted(changed(PLAIN, 0, 0x44), marked)))
    unit:free()
  end)
end)

describe("IPGWOptions", function ()
  local unit

  local function out(text)
    local result = unit:send(noted(text))[1]
    if not result then return nil end
    assert.is_true(is_sound(result[2]))
    return result[2]
  end

  -- The options that come out, and the offset of what is wrong if something is.
  local function options(bytes)
    local text = RECORD:sub(1, 20) .. bytes .. ("\0"):rep(12 - #bytes) .. "data!"
    local result = unit:send(noted(text))[1]
    local problem = result[1] == 2 and unit.packets[#unit.packets]
      .note8[note.ICMP_PARAMPROB] or nil
    return result[2]:sub(21, 20 + #bytes), problem
  end

  before_each(function ()
    unit = click.unit("IPGWOptions(192.0.2.1, 192.0.2.7 192.0.2.8)",
      {outputs = 2, time = 86400 * 5 + 3723.5})
  end)
  after_each(function () unit:free() end)

  local NOW = "\0\56\208\236" -- 3,723,500 ms

  it("lets packets without options pass", function ()
    assert.equal(PLAIN, out(PLAIN))
  end)

  it("records the route", function ()
    local text = out(RECORD)
    assert.equal("\7\11\8\192\0\2\1\0\0\0\0\0", text:sub(21, 32))
    text = out(text)
    assert.equal("\7\11\12\192\0\2\1\192\0\2\1\0", text:sub(21, 32))
    assert.equal(text, out(text)) -- it is full
  end)

  it("notes the time", function ()
    assert.equal("\68\12\13\1\192\0\2\1" .. NOW, out(TIMES):sub(21, 32))
    assert.equal("\68\12\9\0" .. NOW .. "\0\0\0\0",
      options("\68\12\5\0\0\0\0\0\0\0\0\0"))
    assert.equal("\68\4\5\16", options("\68\4\5\0")) -- full: it counts those missing
    assert.equal("\68\12\13\17\0\0\0\0\0\0\0\0",
      options("\68\12\13\1\0\0\0\0\0\0\0\0"))
    assert.same({"\68\4\5\240", 23}, {options("\68\4\5\240")})
  end)

  it("notes the time at its own prespecified addresses", function ()
    local mine, other = "\68\12\5\3\192\0\2\8\0\0\0\0", "\68\12\5\3\192\0\2\9\0\0\0\0"
    assert.equal("\68\12\13\3\192\0\2\8" .. NOW, options(mine))
    assert.equal(other, options(other))
    assert.same({"\68\8\5\3\192\0\2\8", 23}, {options("\68\8\5\3\192\0\2\8")})
  end)

  it("says where options are wrong", function ()
    assert.same({"\1\7\1\4", 22}, {options("\1\7\1\4")}) -- shorter than an option is
    assert.same({"\7\13\4", 21}, {options("\7\13\4")})   -- longer than the header
    assert.same({"\7\11\3", 22}, {options("\7\11\3")})   -- before the first place
    assert.same({"\7\11\9", 22}, {options("\7\11\9")})   -- between two
    assert.same({"\68\12\4\1", 22}, {options("\68\12\4\1")})
    assert.same({"\68\12\5\2", 23}, {options("\68\12\5\2")})
    assert.same({("\1"):rep(11) .. "\7", 32}, {options(("\1"):rep(11) .. "\7")})
    assert.equal("7", unit:read("drops"))
  end)

  it("leaves others alone", function ()
    assert.equal("\130\11" .. ("x"):rep(9), options("\130\11" .. ("x"):rep(9)))
    assert.equal("\0\7\1", options("\0\7\1"))
  end)

  it("drops what has no header", function ()
    assert.is_nil(out(changed(PLAIN, 0, 0x4f)))
    assert.is_nil(out(PLAIN:sub(1, 19)))
    assert.same({["no IP header"] = 2}, unit.lost)
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local dumps = require("testing.click_dumps")
local note = require("click.note")

local FIELDS = "src dst sport dport proto tcp_seq tcp_flags ip_tos ip_id ip_ttl payload"
local TCP = '1.2.3.4 5.6.7.8 1000 80 T 305419896 SA 188 4660 64 "abcdefgh"'
local UDP = '1.2.3.4 5.6.7.8 1000 53 U - - 0 1 64 "abcdefgh"'

-- The aggregate that the field gives; false if the packet goes to output 2.
local function aggregate(arguments, line, change)
  local unit = click.unit(("AggregateIP(%s)"):format(arguments), {outputs = 2})
  assert.same({}, unit.errors)
  local p = dumps.packet(FIELDS, line or TCP)
  p.note32[note.AGGREGATE] = 3
  if change then change(p) end
  local q, o = unit:pass(p)
  local value = o == 1 and q.note32[note.AGGREGATE]
  require("core.packet").free(q)
  return value
end

describe("AggregateIP", function ()
  it("takes the fields that have names", function ()
    for field, value in pairs{
      ["ip src"] = 0x01020304, ["ip dst"] = 0x05060708, ["ip vers"] = 4, ["ip hl"] = 5,
      ["ip tos"] = 188, ["ip dscp"] = 47, ["ip ecn"] = 0, ["ip id"] = 4660,
      ["ip ttl"] = 64, ["ip proto"] = 6, ["ip len"] = 48, ["ip fragoff"] = 0,
      ["tcp sport"] = 1000, ["tcp dport"] = 80, ["tcp seq"] = 0x12345678,
      ["tcp flags"] = 18, ["tcp syn"] = 1, ["tcp ackf"] = 1, ["tcp fin"] = 0,
      ["tcp hl"] = 5, ["ip sport"] = 1000, dport = 80,
    } do
      assert.equal(value, aggregate(field), field)
    end
    assert.equal(53, aggregate("udp dport", UDP))
    assert.equal(16, aggregate("udp len", UDP))
  end)

  it("takes parts of them, and of what is anywhere", function ()
    for _, field in ipairs{"ip src/8", "ip src & 0xFF000000", "ip[12]", '"ip[12, 1]"',
      '"ip{96, 8}"', "ip{96-103}", "ip[12:1]", "ip[12-12]", "ip src{0:8}"} do
      assert.equal(1, aggregate(field), field)
    end
    assert.equal(0x0203, aggregate("ip[13:2]"))
    assert.equal(0x0304, aggregate("ip src & 0xffff"))
    assert.equal(0x3f0 / 16, aggregate("ip id & 0x3f0", nil, function (p)
      p.data[4], p.data[5] = 0xff, 0xff
    end))
    assert.equal(0x1234, aggregate("transp[4:2]"))
    assert.equal(0x1234, aggregate("tcp[4-5]"))
    assert.equal(0x61626364, aggregate("data[0:4]"))
    assert.equal(0x65666768, aggregate("payload[4:4]", UDP))
    assert.equal(0x1234, aggregate("ip proto 6 [4:2]"))
  end)

  it("goes on from the aggregate, and leaves addresses in place", function ()
    assert.equal(0x301, aggregate("ip src/8, INCREMENTAL true"))
    assert.equal(0x01000000, aggregate("ip src/8, UNSHIFT_IP_ADDR true"))
    assert.equal(0x01020304, aggregate("ip src, UNSHIFT_IP_ADDR true"))
    assert.equal(64, aggregate("ip ttl, UNSHIFT_IP_ADDR true"))
  end)

  it("tells packets apart that haven't it", function ()
    assert.is_false(aggregate("udp dport"))
    assert.is_false(aggregate("icmp type"))
    assert.is_false(aggregate("ip[48:4]"))
    assert.equal(0x65666768, aggregate("ip[44:4]"))
    local function fragment(p) p.data[7] = 1 end
    for _, field in ipairs{"tcp dport", "sport", "transp[0]", "data[0]"} do
      assert.is_false(aggregate(field, nil, fragment))
    end
    assert.equal(1, aggregate("ip src/8", nil, fragment))
    assert.is_false(aggregate("ip src", nil, function (p)
      p.note16[note.NETWORK_HEADER] = 0
    end))
    assert.is_false(aggregate("data[0]", nil, function (p) p.data[32] = 0xf0 end))
  end)

  it("says what is wrong with a field", function ()
    local place = "bad offset or length in TCP/IP field"
    local expected = "expected 'HEADER [NAME] [{OFFSET:LENGTH}] [/PREFIX] [& MASK]'"
    for field, problem in pairs{
      ["x"] = expected, ["ip"] = expected, ["ip nothing"] = expected,
      ["ip[1:0]"] = place, ["ip[3-2]"] = place, ["ip tos[1]"] = place,
      ["ip src/33"] = "bad prefix or mask in TCP/IP field",
      ["ip src & 0x5"] = "bad prefix or mask in TCP/IP field",
      ["ip tos & 0x100"] = "bad prefix or mask in TCP/IP field",
      ["ip src x"] = "garbage after field specification",
      ["ip[14:4]"] = "field specification does not fit within a single word",
      ["ip src, INCREMENTAL true"] =
        "'INCREMENTAL' is incompatible with field length 32",
    } do
      assert.same({problem}, click.unit(("AggregateIP(%s)"):format(field)).errors)
    end
  end)

  it("tells its field", function ()
    for field, text in pairs{
      ["ip src/8"] = "ip src/8", ["ip[8:1]"] = "ip ttl", ["ip[12-15]"] = "ip src",
      ["tcp[13] & 0x2"] = "tcp syn", ["ip{97:3}"] = "ip src{1:3}",
      ["transp[4:4]"] = "transp[4:4]", ["data[3]"] = "payload[3]",
      ["udp[10:2]"] = "udp[10:2]", ["udp{81}"] = "udp{81:1}",
    } do
      local unit = click.unit(("AggregateIP(%s)"):format(field))
      assert.equal(text, unit:read("field"))
    end
    local unit = click.unit("AggregateIP(tcp dport)")
    assert.same({"tcp", 16, 16}, {unit:read("header"), unit:read("bit_offset"),
      unit:read("bit_length")})
    assert.equal("ip", click.unit("AggregateIP(ip ttl)"):read("header"))
  end)
end)

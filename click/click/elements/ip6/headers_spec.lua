-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local ffi = require("ffi")
local note = require("click.note")
local packet = require("core.packet")
local packet_bytes = require("testing.packet_bytes")

local changed = packet_bytes.changed

-- Scapy: IPv6(src="2001:db8::1", dst="2001:db8::2", hlim=9) / UDP(sport=1, dport=2) /
--   "data"
local FROM = "\32\1\13\184\0\0\0\0\0\0\0\0\0\0\0\1"
local TO = "\32\1\13\184\0\0\0\0\0\0\0\0\0\0\0\2"
local UDP = "\96\0\0\0\0\12\17\9" .. FROM .. TO .. "\0\1\0\2\0\12\203\155data"

local function noted(text, offset)
  local p = packet.from_string(text)
  note.clear(p)
  p.note16[note.NETWORK_HEADER] = p.data_off + (offset or 0)
  p.note16[note.TRANSPORT_HEADER] = p.data_off + (offset or 0) + 40
  return p
end

local function annotation(p) return ffi.string(p.note8 + note.DST_IP6, 16) end

describe("CheckIP6Header", function ()
  it("lets good headers pass, and cuts behind them", function ()
    local unit = click.unit("CheckIP6Header(OFFSET 14)")
    local p = unit:pass(("e"):rep(14) .. UDP .. "padding")
    assert.equal(14 + #UDP, p.length)
    assert.equal(p.data_off + 14, p.note16[note.NETWORK_HEADER])
    assert.equal(p.data_off + 54, p.note16[note.TRANSPORT_HEADER])
    assert.equal(17, p.note8[note.IP6_NXT])
    packet.free(p)
  end)

  it("drops others", function ()
    local unit = click.unit("CheckIP6Header(2001:db8::9 2001:db8::8)", {outputs = 2})
    for _, text in ipairs{UDP:sub(1, 39), UDP:sub(1, -2), changed(UDP, 0, 0x40),
        changed(UDP, 23, 9), UDP:sub(1, 8) .. ("\255"):rep(16) .. UDP:sub(25), ""} do
      assert.same({{2, text}}, unit:send(text))
    end
    assert.same({{1, UDP}}, unit:send(UDP))
    assert.same({"1", "6"}, {unit:read("count"), unit:read("drops")})
    assert.equal(1, #unit.said)
    unit:free()
  end)

  it("finds what is behind extension headers if told so", function ()
    local unit = click.unit("CheckIP6Header(PROCESS_EH true)")
    local function behind(text)
      local p = unit:pass(text)
      local offset, kind =
        p.note16[note.TRANSPORT_HEADER] - p.data_off, p.note8[note.IP6_NXT]
      packet.free(p)
      return {offset, kind}
    end
    local function with(next_header, payload)
      return changed(UDP, 5, #payload, next_header):sub(1, 40) .. payload
    end
    assert.same({40, 17}, behind(UDP))
    assert.same({56, 17}, behind(with(0, "\43\0" .. ("x"):rep(6) .. "\17\0"
      .. ("x"):rep(6) .. "8 bytes.")))
    assert.same({60, 6}, behind(with(44, "\51" .. ("x"):rep(7) .. "\6\1"
      .. ("x"):rep(10) .. "8 bytes.")))
    assert.same({40, 60}, behind(with(60, "\17\9" .. ("x"):rep(6)))) -- not whole
    assert.same({40, 0}, behind(with(0, "short")))
  end)
end)

describe("MarkIP6Header", function ()
  it("notes the header", function ()
    local p = click.unit("MarkIP6Header(2)"):pass(noted("xx" .. UDP))
    assert.equal(p.data_off + 2, p.note16[note.NETWORK_HEADER])
    assert.equal(p.data_off + 42, p.note16[note.TRANSPORT_HEADER])
    packet.free(p)
  end)
end)

describe("GetIP6Address, SetIP6Address", function ()
  it("note addresses", function ()
    local p = click.unit("GetIP6Address(24)"):pass(noted(UDP))
    assert.equal(TO, annotation(p))
    p = click.unit("SetIP6Address(2001:db8::1)"):pass(p)
    assert.equal(FROM, annotation(p))
    packet.free(p)
    assert.same({}, click.unit("GetIP6Address(24)"):send(noted(UDP:sub(1, 39))))
  end)
end)

describe("DecIP6HLIM", function ()
  it("counts down, and drops what has expired", function ()
    local unit = click.unit("DecIP6HLIM", {outputs = 2})
    assert.same({{1, changed(UDP, 7, 8)}}, unit:send(noted(UDP)))
    assert.same({{2, changed(UDP, 7, 1)}}, unit:send(noted(changed(UDP, 7, 1))))
    assert.same({{2, changed(UDP, 7, 0)}}, unit:send(noted(changed(UDP, 7, 0))))
    assert.equal("2", unit:read("drops"))
    assert.same({}, unit:send(noted(UDP:sub(1, 39))))
    unit:free()
  end)
end)

describe("SetIP6DSCP", function ()
  it("sets the bits behind the version", function ()
    local unit = click.unit("SetIP6DSCP(46)")
    local text = changed(UDP, 0, 0x6f, 0xff)
    assert.same({{1, changed(text, 0, 0x6b, 0xbf)}}, unit:send(noted(text)))
    assert.equal("46", unit:read("dscp"))
    unit:free()
  end)
end)

describe("IP6Encap", function ()
  it("puts a header before packets", function ()
    local unit = click.unit("IP6Encap(udp, 2001:db8::1, 2001:db8::2, HLIM 9)")
    local p = unit:pass(noted(UDP:sub(41)))
    assert.equal(UDP, ffi.string(p.data, p.length))
    assert.equal(TO, annotation(p))
    packet.free(p)
    unit = click.unit("IP6Encap(udp, 2001:db8::1, DST_ANNO, CLASS 0x12)")
    p = noted("data")
    ffi.copy(p.note8 + note.DST_IP6, FROM, 16)
    local out = unit:send(p)[1][2]
    assert.equal("\97\32\0\0\0\4\17\250" .. FROM .. FROM .. "data", out)
    assert.same({"2001:db8::1", "DST_ANNO"}, {unit:read("src"), unit:read("dst")})
    unit:free()
  end)
end)

describe("IP6Mirror", function ()
  it("swaps addresses and ports", function ()
    local unit = click.unit("IP6Mirror")
    assert.same({{1, UDP:sub(1, 8) .. TO .. FROM .. "\0\2\0\1" .. UDP:sub(45)}},
      unit:send(noted(UDP)))
    unit:free()
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")

local A, B = ("\1"):rep(6), ("\2"):rep(6)

local function known(text, offset)
  local p = packet.from_string(text)
  note.clear(p)
  p.note16[note.NETWORK_HEADER] = p.data_off + (offset or 0)
  return p
end

describe("EtherEncap", function ()
  it("puts a header before packets, and notes where it is", function ()
    local unit = click.unit("EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:3)")
    local p = unit:pass("ip")
    assert.equal("\2\2\2\2\2\3" .. A .. "\8\0ip", require("ffi").string(p.data, 16))
    assert.equal(p.data_off, p.note16[note.MAC_HEADER])
    assert.equal(p.data_off + 14, p.note16[note.NETWORK_HEADER])
    packet.free(p)
  end)

  it("can be changed while it runs", function ()
    local unit = click.unit("EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2)")
    assert.equal("2048", unit:read("ethertype"))
    assert.is_nil(unit:write("ethertype", "0x0801"))
    assert.equal("2049", unit:read("ethertype"))
    assert.is_nil(unit:write("src", "ff:1:1:1:1:1"))
    assert.equal("FF-01-01-01-01-01", unit:read("src"))
    assert.same({{1, B .. "\255\1\1\1\1\1\8\1x"}}, unit:send("x"))
    assert.equal("DST: parse error", unit:write("dst", "nonsense"))
    assert.same({{1, B .. "\255\1\1\1\1\1\8\1x"}}, unit:send("x"))
    unit:free()
  end)

  it("drops what would be too long", function ()
    local unit = click.unit("EtherEncap(1, 1:1:1:1:1:1, 2:2:2:2:2:2)")
    unit:send(packet.resize(packet.allocate(), packet.max_payload - 13))
    assert.same({["too long"] = 1}, unit.lost)
  end)

  it("wants its arguments", function ()
    assert.same({"ETHERTYPE: required argument missing",
      "SRC: required argument missing", "DST: required argument missing"},
      click.unit("EtherEncap()").errors)
    assert.equal(1, #click.unit("EtherEncap(65536, 1:1:1:1:1:1, 2:2:2:2:2:2)").errors)
  end)
end)

describe("EtherRewrite", function ()
  it("writes over the header's addresses", function ()
    local unit = click.unit("EtherRewrite(1:1:1:1:1:1, 2:2:2:2:2:2)")
    local p = known(("x"):rep(20), 14)
    p.note16[note.MAC_HEADER] = p.data_off
    assert.same({{1, B .. A .. "xxxxxxxx"}}, unit:send(p))
    assert.same({{1, B .. A}}, unit:send(known(("x"):rep(12))))
    assert.same({}, unit:send(known(("x"):rep(11))))
    assert.same({["too short"] = 1}, unit.lost)
    unit:free()
  end)
end)

describe("EtherMirror", function ()
  it("swaps addresses", function ()
    local unit = click.unit("EtherMirror")
    assert.same({{1, "ghijklabcdefXY"}}, unit:send("abcdefghijklXY"))
    assert.same({}, unit:send("abcdefghijk"))
    unit:free()
  end)
end)

describe("EnsureEther", function ()
  it("lets frames pass, gives stripped headers back, and makes others", function ()
    local unit = click.unit("EnsureEther()")
    local frame = ("e"):rep(12) .. "\8\0ip"
    assert.same({{1, "who knows"}}, unit:send(known("who knows", -300 + 44)))
    assert.same({{1, frame}}, unit:send(known(frame, 14)))
    local p = known(frame, 14)
    p.data_off, p.length = p.data_off + 14, p.length - 14
    assert.same({{1, frame}}, unit:send(p))
    assert.same({{1, B .. A .. "\8\0ip"}}, unit:send(known("xxip", 2)))
    unit:free()
  end)
end)

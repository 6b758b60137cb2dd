-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local ffi = require("ffi")
local note = require("click.note")
local packet = require("core.packet")
local packet_bytes = require("testing.packet_bytes")

local blank = packet_bytes.blank

describe("MarkIPHeader", function ()
  it("notes the header and what is behind it", function ()
    local unit = click.unit("MarkIPHeader(2)")
    local p = unit:pass(blank("xx\70" .. ("i"):rep(30)))
    assert.equal(p.data_off + 2, p.note16[note.NETWORK_HEADER])
    assert.equal(p.data_off + 26, p.note16[note.TRANSPORT_HEADER])
    packet.free(p)
    assert.same({}, unit:send(blank("xx")))
    assert.same({["too short"] = 1}, unit.lost)
  end)
end)

describe("StripIPHeader", function ()
  it("takes off all until the header's end, which UnstripIPHeader undoes", function ()
    local mark, strip, unstrip = click.unit("MarkIPHeader(2)"),
      click.unit("StripIPHeader"), click.unit("UnstripIPHeader")
    local text = "\69" .. ("i"):rep(19) .. "data"
    local p = strip:pass(mark:pass(blank("xx" .. text)))
    assert.equal("data", ffi.string(p.data, p.length))
    assert.same({{1, text}}, unstrip:send(p))
    assert.same({{1, "no header"}}, unstrip:send(blank("no header")))
    assert.same({}, strip:send(blank("no header")))
    assert.same({}, strip:send(mark:pass(blank("xx\69short"))))
    assert.same({["no IP header"] = 2}, strip.lost)
    unstrip:free()
  end)
end)

describe("UnstripAnno", function ()
  it("puts back as much as an annotation says", function ()
    local unit = click.unit("UnstripAnno()")
    local p = blank("abcdef")
    p.data_off, p.length = p.data_off + 4, 2
    p.note16[note.PAINT2] = 4
    assert.same({{1, "abcdef"}}, unit:send(p))
    p = blank("x")
    p.note16[note.PAINT2] = 60000
    assert.same({}, unit:send(p))
    unit:free()
  end)
end)

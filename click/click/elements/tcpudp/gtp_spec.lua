-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")

local function blank(text, aggregate)
  local p = packet.from_string(text)
  note.clear(p)
  p.note32[note.AGGREGATE] = aggregate or 0
  return p
end

describe("GTPEncap, GTPDecap", function ()
  it("put headers before packets, and take them off", function ()
    local encap, decap = click.unit("GTPEncap(22)"), click.unit("GTPDecap")
    assert.same({{1, "\48\255\0\4\0\0\0\22data"}}, encap:send(blank("data")))
    local p = decap:pass((encap:pass(blank("data"))))
    assert.equal(4, p.length)
    assert.equal(22, p.note32[note.AGGREGATE])
    packet.free(p)
    encap:free()
  end)

  it("have the tunnel in the annotation", function ()
    local encap = click.unit("GTPEncap(0)")
    assert.same({{1, "\48\255\0\4\1\2\3\4data"}}, encap:send(blank("data", 0x01020304)))
    encap:free()
  end)

  it("take optional fields off, too, and drop what is short", function ()
    local unit = click.unit("GTPDecap")
    assert.same({{1, "data"}}, unit:send(blank("\50\255\0\8\0\0\0\22\0\0\0\0data")))
    assert.same({}, unit:send(blank("\50\255\0\8\0\0\0\22\0\0\0")))
    assert.same({}, unit:send(blank("short")))
    unit:free()
  end)
end)

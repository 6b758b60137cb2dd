-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

local PLAIN = "\0\0\8\0data"
local KEYED = "\32\0\8\0\0\0\0\7data"

local function numbered(n) return "\16\0\8\0\0\0\0" .. string.char(n) .. "data" end

describe("CheckGREHeader", function ()
  local function check(config, text)
    local unit = click.unit("CheckGREHeader(" .. config .. ")")
    local out = unit:send(text)[1]
    local reason = next(unit.lost)
    unit:free()
    return out and out[2] or reason
  end

  it("tells by name what is wrong", function ()
    assert.equal(PLAIN, check("", PLAIN))
    assert.equal("xx" .. PLAIN, check("OFFSET 2", "xx" .. PLAIN))
    assert.equal("tiny packet", check("", "\0\0\8"))
    assert.equal("tiny packet", check("OFFSET 9", PLAIN))
    assert.equal("bad GRE version", check("", "\0\1\8\0data"))
    assert.equal("bad GRE header length", check("", "\48\0\8\0\0\0\0\7abc"))
    assert.equal("bad GRE checksum", check("CHECKSUM true", PLAIN))
    assert.equal("bad GRE checksum", check("CHECKSUM true", "\128\0\8\0\1\2\0\0ab"))
    assert.equal("invalid key", check("KEY 8", KEYED))
    assert.equal("invalid key", check("KEY 7", PLAIN))
    assert.equal(KEYED, check("KEY 7", KEYED))
    assert.equal("out of sequence", check("SEQUENCE true", PLAIN))
  end)

  it("takes a checksum that is right", function ()
    local encap = click.unit("GREEncap(0x0800, CHECKSUM true, KEY 7)")
    local text = encap:send("payload")[1][2]
    assert.equal(text, check("CHECKSUM true, KEY 7", text))
    assert.equal("payload", check("CHECKSUM true, STRIP true", text))
    encap:free()
  end)

  it("takes numbers that go up", function ()
    local unit = click.unit("CheckGREHeader(SEQUENCE true, DETAILS true)")
    for _, case in ipairs{{5, 1}, {5, 0}, {4, 0}, {9, 1}} do
      assert.equal(case[2], #unit:send(numbered(case[1])))
    end
    assert.equal("2\n", unit:read("drops"))
    assert.matches("\n0\tinvalid key\n2\tout of sequence\n$", unit:read("drop_details"))
    assert.same({"GRE header check failed: out of sequence"}, unit.said)
    unit:free()
  end)
end)

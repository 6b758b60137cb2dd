-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local ffi = require("ffi")
local note = require("click.note")
local packet = require("core.packet")

local A, B = "abcdef", "ghijkl"

local function noted(p, offset) return ffi.string(p.note8 + note.FIRST + offset, 6) end

describe("GetEtherAddress", function ()
  it("notes an address", function ()
    local unit = click.unit("GetEtherAddress(4, src)", {outputs = 2})
    local p = unit:pass(A .. B)
    assert.equal(B, noted(p, 4))
    packet.free(p)
    assert.same({{2, A .. "ghijk"}}, unit:send(A .. "ghijk"))
    p = click.unit("GetEtherAddress(4, 1)"):pass(A .. B)
    assert.equal("bcdefg", noted(p, 4))
    packet.free(p)
    unit:free()
    assert.same({"type mismatch: bad OFFSET"},
      click.unit("GetEtherAddress(4, source)").errors)
    assert.equal(1, #click.unit("GetEtherAddress(43, src)").errors)
  end)
end)

describe("SetEtherAddress", function ()
  it("notes its address", function ()
    local unit = click.unit("SetEtherAddress(61:62:63:64:65:66, 8)")
    local p = unit:pass("x")
    assert.equal(A, noted(p, 8))
    assert.is_nil(unit:write("addr", "67-68-69-6a-6b-6c"))
    assert.equal("67-68-69-6A-6B-6C", unit:read("addr"))
    assert.equal(B, noted(unit:pass(p), 8))
    packet.free(p)
  end)
end)

describe("StoreEtherAddress", function ()
  it("writes its address, or that of an annotation", function ()
    local unit = click.unit("StoreEtherAddress(61:62:63:64:65:66, dst)", {outputs = 2})
    assert.same({{1, A .. "123456"}}, unit:send("xxxxxx123456"))
    assert.same({{2, "xxxxx"}}, unit:send("xxxxx"))
    unit:free()
    local p = packet.from_string("xxxxxxxxxxxx")
    ffi.copy(p.note8 + note.FIRST + 8, B, 6)
    unit = click.unit("StoreEtherAddress(OFFSET src, ANNO 8)")
    assert.same({{1, "xxxxxx" .. B}}, unit:send(p))
    assert.same({"must specify exactly one of ADDR/ANNO"},
      click.unit("StoreEtherAddress(OFFSET src)").errors)
    unit:free()
  end)
end)

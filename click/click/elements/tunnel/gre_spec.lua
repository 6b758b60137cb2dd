-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local packet = require("core.packet")

-- What the element makes of the bytes, time after time.
local function made(element, ...)
  local unit, list = click.unit(element), {}
  assert.same({}, unit.errors)
  for i, bytes in ipairs{...} do
    list[i] = (unit:send(bytes)[1] or {})[2] or false
  end
  unit:free()
  return list, unit
end

describe("GREEncap", function ()
  it("puts a header before packets", function ()
    assert.same({"\0\0\x08\0abc"}, made("GREEncap(0x0800)", "abc"))
    assert.same({"\x20\0\x88\x47\0\0\0\7abc"}, made("GREEncap(0x8847, KEY 7)", "abc"))
  end)

  it("sums up header and payload", function ()
    -- 8000 + 0800 + 6162 + 6300 = 14c62, so 4c63, inverted b39c
    assert.same({"\x80\0\x08\0\xb3\x9c\0\0abc"},
      made("GREEncap(0x0800, CHECKSUM true)", "abc"))
  end)

  it("numbers packets from 1 on", function ()
    assert.same({"\x10\0\x08\0\0\0\0\1a", "\x10\0\x08\0\0\0\0\2b"},
      made("GREEncap(0x0800, SEQUENCE true)", "a", "b"))
    assert.same({"\xb0\0\x08\0\xe5\x99\0\0\0\0\1\2\0\0\0\1ab"},
      made("GREEncap(0x0800, CHECKSUM true, KEY 258, SEQUENCE true)", "ab"))
  end)

  it("drops what gets too long", function ()
    local _, unit = made("GREEncap(1)", ("x"):rep(packet.max_payload))
    assert.same({["too long"] = 1}, unit.lost)
    assert.same({"PROTOCOL: out of range, bound 65535"},
      click.unit("GREEncap(65536)").errors)
  end)
end)

describe("StripGREHeader", function ()
  it("takes off what the flags say", function ()
    assert.same({"abc", "abc", "abc", "abc", ""}, made("StripGREHeader",
      "\0\0\x08\0abc", "\x80\0\x08\0\1\2\0\0abc", "\x20\0\x08\0\0\0\0\7abc",
      "\xb0\0\x08\0\1\2\0\0\0\0\1\2\0\0\0\1abc", "\0\0\x08\0"))
  end)

  it("drops what is too short for that", function ()
    local _, unit = made("StripGREHeader", "abc", "\x80\0\x08\0abc")
    assert.same({["too short"] = 2}, unit.lost)
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")

local function painted(text, color)
  local p = packet.from_string(text)
  note.clear(p)
  p.note8[note.PAINT] = color
  return p
end

describe("StoreAnno", function ()
  it("stores a byte, where packets have one there", function ()
    local unit = click.unit("StoreAnno(2)")
    assert.same({{1, "abCd"}}, unit:send(painted("abcd", 67)))
    assert.same({{1, "ab"}}, unit:send(painted("ab", 67)))
    unit:free()
    unit = click.unit("StoreAnno(0, 17, GROW true)")
    assert.same({{1, "Cb"}}, unit:send(painted("ab", 67)))
    assert.same({{1, ""}}, unit:send(painted("", 67)))
    unit:free()
  end)
end)

describe("PushAnno", function ()
  it("puts all annotations in front", function ()
    local unit = click.unit("PushAnno")
    assert.same({{1, ("\0"):rep(17) .. "C" .. ("\0"):rep(30) .. "ab"}},
      unit:send(painted("ab", 67)))
    unit:free()
  end)
end)

-- SPDX-License-Identifier: Apache-2.0

local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")

local function at(unit, time, text)
  local p = packet.from_string(text or "")
  note.clear(p)
  p.note64[note.TIMESTAMP] = time
  return unit:send(p)
end

describe("TimeRange", function ()
  it("notes the first and the last time", function ()
    local unit = click.unit("TimeRange")
    assert.equal("0.000000 0.000000", unit:read("range"))
    for _, time in ipairs{3e9, 5e9, 1.5e9} do at(unit, time) end
    assert.equal("1.500000 5.000000", unit:read("range"))
    assert.equal("3.500000", unit:read("interval"))
    unit:write("reset")
    assert.equal("0.000000", unit:read("last"))
    unit:free()
    unit = click.unit("TimeRange(SIMPLE true)")
    for _, time in ipairs{3e9, 5e9, 4e9} do at(unit, time) end
    assert.equal("3.000000", unit:read("first"))
    assert.equal("4.000000", unit:read("last"))
    unit:free()
  end)
end)

describe("StoreTimestamp", function ()
  local STORED = "\4\3\2\1\0\0\0\0"

  it("writes the time where it is to be", function ()
    local unit = click.unit("StoreTimestamp(1)")
    assert.same({{1, "a" .. STORED .. "j"}}, at(unit, 0x01020304, "abcdefghij"))
    assert.same({{1, "a" .. STORED}}, at(unit, 0x01020304, "abc"))
    assert.same({{1, "\0" .. STORED}}, at(unit, 0x01020304, ""))
    unit:free()
    unit = click.unit("StoreTimestamp(TAIL true)")
    assert.same({{1, "abc" .. STORED}}, at(unit, 0x01020304, "abc"))
    assert.same({}, at(unit, 1, ("x"):rep(packet.max_payload - 7)))
    assert.same({["too long"] = 1}, unit.lost)
    unit:free()
  end)

  it("wants one of its arguments", function ()
    for _, config in ipairs{"StoreTimestamp", "StoreTimestamp(1, TAIL true)"} do
      assert.same({"supply exactly one of 'OFFSET' and "
        .. "'TAIL'"}, click.unit(config).errors)
    end
  end)
end)

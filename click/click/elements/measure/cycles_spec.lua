-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")

describe("SetCycleCount and CycleCountAccum", function ()
  it("measure the way between them", function ()
    local set, add = click.unit("SetCycleCount"), click.unit("CycleCountAccum")
    for _ = 1, 10 do
      local p = packet.from_string("abc")
      note.clear(p)
      add:send(set:pass(p))
    end
    add:free()
    assert.equal(10, add:read("count"))
    local cycles, each = tonumber(add:read("cycles")), tonumber(add:read("cycles_pp"))
    assert.is_true(cycles > 0)
    assert.equal(math.floor(cycles / 10), each)
    assert.equal(0, add:read("zero_count"))
    assert.is_nil(add:write("reset_counts"))
    assert.same({0, "0", "0"}, {add:read("count"), add:read("cycles"),
      add:read("cycles_pp")})
  end)

  it("leave out packets without a count", function ()
    local add = click.unit("CycleCountAccum", {name = "a"})
    add:send("abc")
    add:send("abc")
    add:free()
    assert.same({0, 2, "0"}, {add:read("count"), add:read("zero_count"),
      add:read("cycles")})
    assert.same({"a :: CycleCountAccum: packet with zero cycle counter annotation!"},
      add.said)
  end)
end)

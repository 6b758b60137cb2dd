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

describe("RoundTripCycleCount", function ()
  -- What `packets`, those that came to the counter behind it, and whether there are
  -- cycles; and the same after reset_counts.
  local function told(text)
    local router = click.run(text)
    local function read(handler) return tostring((router:handler_read(handler))) end
    local before = {read("r.packets"), read("c.count"), tonumber(read("r.cycles")) > 0}
    router:handler_write("r.reset_counts", "")
    local after = {read("r.packets"), read("r.cycles")}
    router:close()
    return before, after
  end

  it("counts what it pushes, and loses none", function ()
    local before, after = told[[InfiniteSource(LIMIT 1000, STOP true)
      -> r :: RoundTripCycleCount -> Strip(14) -> c :: Counter -> Discard]]
    assert.same({"1000", "1000", true}, before)
    assert.same({"0", "0"}, after)
  end)

  it("counts what it pulls", function ()
    local before = told[[InfiniteSource(LIMIT 100, STOP false) -> Queue(200)
      -> r :: RoundTripCycleCount -> Unqueue -> c :: Counter -> Discard;
      Script(wait 1, stop)]]
    assert.same({"100", "100", true}, before)
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local click_router = require("testing.click_router")
local note = require("click.note")

local function texts(list)
  local all = {}
  for i, entry in ipairs(list) do all[i] = entry[2] end
  return table.concat(all, " ")
end

describe("InfiniteSource", function ()
  it("makes Click's packets if it isn't told any", function ()
    local unit = click.unit("InfiniteSource(LIMIT 1)")
    local text = texts(unit:work())
    assert.equal(69, #text)
    assert.matches("^Random .* packet, at least 64 bytes long%..* now it is%.$", text)
  end)

  it("makes packets in bursts, up to a limit", function ()
    local unit = click.unit("InfiniteSource(ab, LIMIT 5, BURST 2, STOP true)")
    assert.equal("ab ab", texts(unit:work()))
    assert.equal("ab ab ab", texts(unit:work(2)))
    assert.same({}, unit.called)
    assert.equal("", texts(unit:work()))
    assert.same({"stop"}, unit.called)
    assert.is_false(unit.element:scheduled())
    assert.equal(5, unit:read("count"))
    unit:write("reset")
    assert.equal("ab ab", texts(unit:work()))
    unit:free()
  end)

  it("repeats its data to a length", function ()
    local unit = click.unit("InfiniteSource(abc, LENGTH 7)")
    assert.equal("abcabca", texts(unit:work()))
    unit:write("length", "2")
    assert.equal("ab", texts(unit:work()))
    unit:write("data", "xyz")
    assert.equal("xy", texts(unit:work()))
    unit:write("length", "-1")
    assert.equal("xyz", texts(unit:work()))
    unit:free()
  end)

  it("notes the time, and nothing else", function ()
    local unit = click.unit("InfiniteSource(a)", {time = 5})
    unit:work()
    local p = unit.packets[1]
    assert.equal("5.000000", note.time_text(p.note64[note.TIMESTAMP]):sub(1, 8))
    for i = 0, 7 do
      if i ~= note.TIMESTAMP then assert.is_true(p.note64[i] == 0) end
    end
    unit:free()
  end)

  it("may be pulled from, and tells when nothing is left", function ()
    local unit = click.unit("InfiniteSource(a, LIMIT 2)", {pull = true})
    assert.equal("a", unit:pull())
    assert.equal("a", unit:pull())
    assert.is_true(unit.element.signal.active)
    assert.is_nil(unit:pull())
    assert.is_false(unit.element.signal.active)
    unit:write("limit", "3")
    assert.is_true(unit.element.signal.active)
    assert.equal("a", unit:pull())
  end)

  it("refuses what can't be", function ()
    assert.same({"burst size must be >= 1"},
      click.unit("InfiniteSource(a, 1, 0)").errors)
    assert.same({"END_CALL and STOP are mutually exclusive"},
      click.unit("InfiniteSource(STOP true, END_CALL x.y)").errors)
    assert.equal("syntax error", click.unit("InfiniteSource"):write("limit", "x"))
  end)
end)

describe("RatedSource", function ()
  it("keeps to its rate", function ()
    local unit = click.unit("RatedSource(a, RATE 50)")
    local count = 0
    local function run(seconds)
      for _ = 1, 100 * seconds do
        unit:wait(0.01)
        unit:work(5)
      end
      local n = unit:read("count") - count
      count = count + n
      unit:free()
      return n
    end
    assert.is_true(math.abs(run(1) - 50) <= 2)
    assert.is_true(math.abs(run(2) - 100) <= 1)
    unit:write("rate", "1000")
    assert.is_true(math.abs(run(1) - 1000) <= 20)
    unit:write("active", "false")
    unit:work(2)
    assert.equal(0, run(1))
  end)

  it("goes on with another rate, though it had stopped with none", function ()
    assert.near(10, click_router.count_after(
      "s :: RatedSource(RATE 0) -> c :: Counter -> Discard", "s.rate", "10"), 1)
  end)

  it("stops at its limit", function ()
    local unit = click.unit("RatedSource(a, RATE 1000, LIMIT 3, STOP true)")
    for _ = 1, 10 do
      unit:work(3)
      unit:wait(0.01)
    end
    assert.equal(3, unit:read("count"))
    assert.same({"stop"}, unit.called)
    unit:free()
  end)

  it("works its rate out of a bandwidth", function ()
    assert.equal(125, click.unit("RatedSource(LENGTH 100, BANDWIDTH 100kbps)")
      :read("rate"))
  end)

  it("is slower than a packet a second if the bandwidth is", function ()
    local unit = click.unit("RatedSource(LENGTH 64, BANDWIDTH 10bps)")
    for _ = 1, 2000 do
      unit:wait(0.1)
      unit:work(2)
    end
    -- 1.25 / 64 a second: 3.9 in 200 s, and the bucket of 2 that it began with.
    assert.equal(5, unit:read("count"))
    unit:free()
  end)
end)

describe("TimedSource", function ()
  it("makes a packet at each interval", function ()
    local unit = click.unit("TimedSource(2, ab, LIMIT 3, STOP true)")
    assert.equal("", texts(unit:wait(1.9)))
    assert.equal("ab", texts(unit:wait(0.2)))
    assert.equal("ab ab", texts(unit:wait(4)))
    assert.same({}, unit.called)
    unit:wait(2)
    assert.same({"stop"}, unit.called)
    unit:free()
  end)
end)

describe("RandomSource", function ()
  it("makes packets of random bytes, and says what InfiniteSource does", function ()
    local unit = click.unit("RandomSource(40, LIMIT 2, BURST 3, STOP true)")
    local made = unit:work()
    assert.same({40, 40}, {#made[1][2], #made[2][2]})
    assert.not_equal(made[1][2], made[2][2])
    unit:work()
    assert.same({"stop"}, unit.called)
    assert.same({2, 40}, {unit:read("count"), unit:read("length")})
    unit:write("limit", "3")
    unit:write("length", "10")
    assert.equal(10, #texts(unit:work()))
    unit:free()
  end)

  it("takes InfiniteSource's keywords", function ()
    local unit = click.unit("RandomSource(4, END_CALL a.b, STOP true)")
    assert.same({"END_CALL and STOP are mutually exclusive"}, unit.errors)
    assert.same({"burst size must be >= 1"},
      click.unit("RandomSource(4, BURST 0)").errors)
    assert.same({}, click.unit("RandomSource(4, TIMESTAMP false)").errors or {})
  end)
end)

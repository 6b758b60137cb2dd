-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

describe("Tee", function ()
  it("copies to all outputs, in order", function ()
    local unit = click.unit("Tee", {outputs = 3})
    assert.same({{1, "ab"}, {2, "ab"}, {3, "ab"}}, unit:send("ab"))
    unit:free()
    assert.same({"3 outputs implies 3 arms"},
      click.unit("Tee(2)", {outputs = 3}).errors)
  end)

  it("may be pulled through", function ()
    local r = click.run([[
      InfiniteSource(LIMIT 10) -> Queue -> t :: PullTee(3) -> Unqueue -> c :: Counter
        -> Discard; t[1] -> d :: Counter -> Discard; t[2] -> Discard;
      TimedSource(1, LIMIT 0, STOP true) -> Discard]])
    assert.equal("10", (r:handler_read("c.count")))
    assert.equal("10", (r:handler_read("d.count")))
    r:close()
  end)
end)

describe("Suppressor", function ()
  it("stops ports", function ()
    local unit = click.unit("Suppressor", {inputs = 2, outputs = 2})
    assert.same({{2, "a"}}, unit:send("a", 2))
    unit:write("active1", "false")
    assert.same({}, unit:send("a", 2))
    assert.same({{1, "a"}}, unit:send("a", 1))
    unit:write("reset")
    assert.is_true(unit:read("active1"))
    assert.same({{2, "a"}}, unit:send("a", 2))
    assert.equal("type mismatch", unit:write("active0", "x"))
    unit:free()
  end)
end)

describe("Bypass", function ()
  it("goes by way of others when it is active", function ()
    local unit = click.unit("Bypass", {inputs = 2, outputs = 2})
    assert.same({{1, "a"}}, unit:send("a"))
    unit:write("active", "true")
    assert.same({{2, "a"}}, unit:send("a"))
    assert.same({{1, "a"}}, unit:send("a", 2))
    unit:free()
  end)
end)

describe("RandomSample and RandomBitErrors", function ()
  it("act with a probability", function ()
    local unit = click.unit("RandomSample(0.25)", {outputs = 2})
    local count = {0, 0}
    for _ = 1, 4000 do
      local o = unit:send("x")[1][1]
      count[o] = count[o] + 1
      unit:free()
    end
    assert.is_true(math.abs(count[1] - 1000) < 200)
    assert.equal(count[2], unit:read("drops"))
    unit:write("drop_prob", "0")
    assert.equal(1, unit:read("sampling_prob"))
    assert.equal(1, unit:send("x")[1][1])
    unit:free()
    local errors, ones = click.unit("RandomBitErrors(0.1)"), 0
    for _ = 1, 100 do
      local bytes = errors:send(("\0"):rep(100))[1][2]
      for c in bytes:gmatch(".") do
        for k = 0, 7 do ones = ones + bit.band(bit.rshift(c:byte(), k), 1) end
      end
      errors:free()
    end
    assert.is_true(math.abs(ones - 8000) < 800, ones)
  end)

  it("fill packets", function ()
    local unit = click.unit("RandomSource(50, LIMIT 2, STOP true)")
    assert.equal(50, #unit:work()[1][2])
    unit:work(3)
    assert.equal(2, unit:read("count"))
    assert.same({"stop"}, unit.called)
    unit:free()
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

-- Pull until there is nothing; the bytes, one behind the other.
local function all(unit)
  local texts = {}
  for _ = 1, 100 do
    local text = unit:pull()
    if not text then break end
    texts[#texts + 1] = text
  end
  return table.concat(texts)
end

local function send(unit, texts, i)
  local out = {}
  for c in texts:gmatch(".") do
    for _, entry in ipairs(unit:send(c, i)) do out[#out + 1] = entry end
  end
  return out
end

describe("Queue", function ()
  it("gives packets back in their order", function ()
    local unit = click.unit("Queue(5)")
    assert.same({}, send(unit, "abc"))
    assert.equal("a", unit:pull())
    send(unit, "de")
    assert.equal("bcde", all(unit))
    assert.equal(5, unit.kept)
    assert.equal(4, unit:read("highwater_length"))
  end)

  it("drops what finds no room, and says so once", function ()
    local unit = click.unit("Queue(2)")
    send(unit, "abcd")
    assert.same({["queue full"] = 2}, unit.lost)
    assert.same({"e :: Queue: overflow"}, unit.said)
    assert.equal(2, unit:read("drops"))
    assert.equal("ab", all(unit))
    unit = click.unit("Queue(0)")
    send(unit, "a")
    assert.same({["queue full"] = 1}, unit.lost)
  end)

  it("may send it to its second output", function ()
    local unit = click.unit("SimpleQueue(1)", {outputs = 2})
    assert.same({{2, "b"}}, send(unit, "ab"))
    unit:write("reset")
    assert.same({{2, "a"}}, unit:wait(0))
    send(unit, "c")
    assert.equal("c", all(unit))
    unit:free()
  end)

  it("says when it is empty, and when it is full", function ()
    local unit = click.unit("Queue(2)")
    local empty, full = unit.element.signal, unit.element.full_signal
    local woken = {empty = 0, full = 0}
    empty:listen(function () woken.empty = woken.empty + 1 end)
    full:listen(function () woken.full = woken.full + 1 end)
    for _ = 1, 10 do unit:pull() end
    assert.is_false(empty.active)
    send(unit, "ab")
    assert.is_true(empty.active)
    assert.is_false(full.active)
    unit:pull()
    assert.is_true(full.active)
    assert.same({empty = 1, full = 1}, woken)
    assert.equal("b", all(unit))
  end)

  it("changes its capacity, and frees what doesn't fit", function ()
    local unit = click.unit("Queue(8)")
    send(unit, "abcdef")
    unit:pull()
    assert.is_nil(unit:write("capacity", "3"))
    assert.equal("3", unit.element.config)
    assert.equal(3, unit:read("length"))
    assert.equal("bcd", all(unit))
    assert.is_nil(unit:write("capacity", "1000"))
    send(unit, ("x"):rep(500))
    assert.equal(500, unit:read("length"))
    unit.element:cleanup()
    assert.equal(0, unit:read("length"))
    assert.equal("CAPACITY: at most 16777216 packets",
      unit:write("capacity", "100000000"))
  end)

  it("takes packets over from another", function ()
    local old, new = click.unit("Queue(8)"), click.unit("Queue(3)")
    send(old, "abcd")
    old:pull()
    new.element:take_state(old.element)
    assert.equal(0, old:read("length"))
    assert.equal("bcd", all(new))
    assert.same({}, new.warnings)
  end)
end)

describe("FrontDropQueue", function ()
  it("drops the oldest", function ()
    local unit = click.unit("FrontDropQueue(3)", {outputs = 2})
    assert.same({{2, "a"}, {2, "b"}}, send(unit, "abcde"))
    assert.equal("cde", all(unit))
    unit:free()
  end)
end)

describe("MixedQueue", function ()
  it("puts packets of its second input in front", function ()
    local unit = click.unit("MixedQueue(4)", {inputs = 2, outputs = 2})
    send(unit, "ab", 1)
    assert.same({}, send(unit, "cd", 2))
    assert.same({{2, "b"}}, send(unit, "e", 2))
    assert.same({{2, "f"}}, send(unit, "f", 1))
    assert.equal("edca", all(unit))
    unit:free()
  end)
end)

describe("QuickNoteQueue", function ()
  it("says that it is empty as soon as it is", function ()
    local unit = click.unit("QuickNoteQueue(2)")
    unit:send("a")
    unit:send("b")
    assert.is_false(unit.element.full_signal.active)
    assert.equal("a", unit:pull())
    assert.same({true, true},
      {unit.element.signal.active, unit.element.full_signal.active})
    assert.equal("b", unit:pull())
    assert.is_false(unit.element.signal.active)
    assert.is_nil(unit:pull())
    unit:send("c")
    assert.is_true(unit.element.signal.active)
    assert.equal("c", unit:pull())
  end)
end)

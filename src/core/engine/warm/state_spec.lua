-- SPDX-License-Identifier: Apache-2.0

local counter = require("core.counter")
local ffi = require("ffi")
local state = require("core.engine.warm.state")

describe("state", function ()
  it("puts back tables, what they hold and how deep it is", function ()
    local inner, list = {x = 1}, {1, 2, 3}
    local app = {n = 1, name = "a", flag = true, inner = inner, list = list}
    inner.up = app -- round in a circle
    local saved = state.save(app)
    app.n, app.name, app.flag, app.new = 2, nil, false, "new"
    inner.x, inner.y = 2, {}
    table.insert(list, 4)
    app.list = {}
    state.restore(saved)
    assert.equal(inner, app.inner)
    assert.equal(list, app.list)
    assert.same({1, 2, 3}, list)
    assert.same({x = 1, up = app}, inner)
    assert.same({n = 1, name = "a", flag = true, inner = inner, list = list}, app)
  end)

  it("puts back FFI values in place", function ()
    local app = {
      array = ffi.new("int[4]", {1, 2, 3, 4}),
      open = ffi.new("uint8_t[?]", 3, {5, 6, 7}),
      struct = ffi.new("struct { int a; double b; }", {1, 2.5}), number = 5LL,
    }
    local array, open, struct = app.array, app.open, app.struct
    local saved = state.save(app)
    array[0], array[3], open[2], struct.a, struct.b = 9, 9, 9, 9, 9
    app.number = app.number + 1
    state.restore(saved)
    assert.same({1, 4, 7, 1, 2.5}, {array[0], array[3], open[2], struct.a, struct.b})
    assert.equal(array, app.array)
    assert.equal(5LL, app.number)
  end)

  it("puts back counters, and leaves other pointers alone", function ()
    local c = counter.create("test/warm.counter", 7)
    local memory = ffi.new("int[1]", 1)
    local app = {shm = {hits = c}, pointer = ffi.cast("int *", memory)}
    local saved = state.save(app)
    counter.add(c, 3)
    memory[0] = 2
    state.restore(saved)
    assert.equal(7, tonumber(counter.read(c)))
    assert.equal(2, memory[0])
    counter.delete("test/warm.counter")
  end)

  it("doesn't look into modules, nor into what is the engine's", function ()
    local l = {}
    local app = {lib = string, input = l, own = {}}
    local saved = state.save(app)
    l.x, app.own.x = 1, 1
    state.restore(saved)
    assert.equal(1, l.x)
    assert.is_nil(app.own.x)
  end)

  it("refuses what is too much", function ()
    local big = {}
    for i = 1, state.most_entries + 1 do big[i] = i end
    assert.is_nil(state.save{big = big})
    assert.is_table(state.save{big = {1}})
  end)
end)

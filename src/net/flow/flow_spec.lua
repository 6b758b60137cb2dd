-- SPDX-License-Identifier: Apache-2.0
local C = require("core.declare")("net/flow/flow.h")
local ffi = require("ffi")
local flow = require("net.flow.flow")

-- Each number below 65,536 (256 of one byte) has a key of that many bytes.
local function key_of(bytes, n)
  local key = ffi.new("uint8_t[?]", bytes)
  for i = 0, bytes - 1 do key[i] = math.floor(n / 256 ^ (i % 2)) % 256 end
  return key
end

local function bytes_type(n) return ffi.typeof("struct { uint8_t byte[$]; }", n) end

ffi.cdef "int memcmp(const void *a, const void *b, size_t n);"

-- luassert is slow.
local function same(expected, value)
  if expected ~= value then assert.equal(expected, value) end
end

local function numbers_in(t)
  local seen, n = {}, 0
  while true do
    n = t:next(n)
    if n == 0 then return seen end
    same(nil, seen[n])
    seen[n] = true
  end
end

-- Both hold the same, found singly, together, and by going through.
local function compare(t, model, bytes, most)
  local keys = ffi.new("uint8_t[?]", bytes * most)
  local numbers = ffi.new("uint32_t[?]", most)
  for n = 0, most - 1 do ffi.copy(keys + n * bytes, key_of(bytes, n), bytes) end
  t:find_many(keys, most, numbers)
  local count, seen = 0, numbers_in(t)
  for n = 0, most - 1 do
    local at = t:find(keys + n * bytes)
    same(at, numbers[n])
    same(model[n] ~= nil, at ~= 0)
    if at ~= 0 then
      count = count + 1
      same(true, seen[at])
      seen[at] = nil
      same(model[n], t.record[at].value)
      same(0, ffi.C.memcmp(t.record[at].key.byte, keys + n * bytes, bytes))
    end
  end
  assert.equal(count, t:count())
  assert.is_nil(next(seen))
end

local function random_steps(t, model, bytes, most, steps)
  for step = 1, steps do
    local n = math.random(0, most - 1)
    local key = key_of(bytes, n)
    if math.random() < 0.6 then
      local at, new = t:add(key)
      same(model[n] == nil, new)
      same(true, at > 0)
      t.record[at].value, model[n] = step, step
    else
      local at = t:find(key)
      same(model[n] ~= nil, at > 0)
      if at > 0 then t:remove(at) end
      model[n] = nil
    end
  end
end

describe("A table of flows", function ()
  it("holds what a Lua table holds, whatever the size of keys", function ()
    math.randomseed(3)
    for bytes = 1, 64 do
      local most = bytes == 1 and 256 or 600
      local t = flow.new{key = bytes_type(bytes), value = "uint32_t", limit = most,
        seed = bytes}
      local model = {}
      random_steps(t, model, bytes, most, 1500)
      compare(t, model, bytes, most)
    end
  end)

  it("holds it while it grows and is emptied again", function ()
    math.randomseed(4)
    local t = flow.new{key = bytes_type(12), value = "uint32_t", limit = 200000}
    local model, most = {}, 1000
    while most <= 16000 do
      random_steps(t, model, 12, most, 2 * most)
      compare(t, model, 12, most)
      most = most * 4
    end
    for n in pairs(model) do t:remove(t:find(key_of(12, n))) end
    compare(t, {}, 12, most / 4)
  end)

  it("finds keys of all sizes by every byte of theirs", function ()
    for bytes = 1, 64 do
      local t = flow.new{key = bytes_type(bytes), limit = 64}
      local key = ffi.new("uint8_t[?]", bytes)
      t:add(key)
      for i = 0, bytes - 1 do
        key[i] = 1
        assert.equal(0, t:find(key))
        key[i] = 0
      end
      assert.equal(1, t:find(key))
    end
  end)

  it("has every key in a line that goes on, when hashes are all the same", function ()
    local t = flow.new{key = "uint32_t", limit = 1000}
    ffi.fill(t.table.index.secret, 80) -- then 0 is the sum of every short key
    local key, numbers = ffi.new("uint32_t[100]"), {}
    for n = 1, 100 do
      key[0] = n
      numbers[n] = t:add(key)
    end
    for n = 1, 100, 3 do t:remove(numbers[n]) end
    local found = ffi.new("uint32_t[100]")
    for n = 1, 100 do key[n - 1] = n end
    t:find_many(key, 100, found)
    for n = 1, 100 do
      assert.equal(n % 3 == 1 and 0 or numbers[n], found[n - 1])
      assert.equal(found[n - 1], t:find(key + n - 1))
    end
  end)

  it("refuses more than its limit, or evicts what would go first", function ()
    local key = ffi.new("uint32_t[1]")
    local function fill(t, from, to)
      local last
      for n = from, to do
        key[0] = n
        last = t:add(key, n)
      end
      return last
    end
    local t = flow.new{key = "uint32_t", limit = 100}
    fill(t, 1, 100)
    assert.equal(0, fill(t, 101, 110))
    assert.equal(100, t:count())
    assert.equal(10, tonumber(t.table.refused))
    t = flow.new{key = "uint32_t", limit = 100, ages = {1000}, full = "evict"}
    fill(t, 1, 100)
    key[0] = 1
    t:touch(t:find(key), 100)
    fill(t, 101, 110)
    assert.equal(100, t:count())
    assert.equal(10, tonumber(t.table.evicted))
    for n = 1, 110 do
      key[0] = n
      assert.equal(n == 1 or n > 11, t:find(key) > 0)
    end
  end)

  it("evicts what is over before what is in use, though it was used", function ()
    local t = flow.new{key = "uint32_t", limit = 1024, ages = {1000}, full = "evict"}
    local key = ffi.new("uint32_t[1]")
    local function add(from, to, now)
      for n = from, to do
        key[0] = n
        t:add(key, now)
      end
    end
    add(1, 600, 0)
    add(1, 600, 100) -- used again
    add(1001, 1424, 2000)
    add(2001, 2600, 2001)
    local kept = 0
    for n = 1001, 1424 do
      key[0] = n
      if t:find(key) > 0 then kept = kept + 1 end
    end
    assert.equal(424, kept)
  end)

  it("lets records go by their timeouts", function ()
    local t = flow.new{key = "uint32_t", limit = 5000, ages = {10, 100}}
    local key = ffi.new("uint32_t[1]")
    local function number(n)
      key[0] = n
      return t:find(key)
    end
    for n = 1, 20 do
      key[0] = n
      t:add(key, n, n % 2)
    end
    t:touch(number(2), 15, 0)
    t:touch(number(4), 15, 1)
    local gone = {}
    local function note(r) gone[t.record[r].key] = true end
    assert.equal(2, t:expire(20, 2, note))
    assert.equal(1, t:expire(20, 2, note))
    assert.equal(0, t:expire(24, 0, note))
    assert.same({[6] = true, [8] = true, [10] = true}, gone)
    assert.is_true(number(2) > 0 and number(4) > 0 and number(1) > 0)
  end)

  it("goes through records while others come and go", function ()
    math.randomseed(9)
    local t = flow.new{key = "uint32_t", limit = 4000}
    local key = ffi.new("uint32_t[1]")
    for n = 1, 2000 do
      key[0] = n
      t:add(key)
    end
    local met, at = {}, t:next(0)
    while at > 0 do
      local n = t.record[at].key
      assert.is_nil(met[n])
      met[n] = true
      if n % 2 == 0 then t:remove(at) end
      key[0] = 2000 + n
      if n % 3 == 0 and n <= 2000 then t:add(key) end
      at = t:next(at)
    end
    for n = 1, 2000 do assert.is_true(met[n]) end
    assert.equal(0, t:next(4000))
  end)

  it("has its records at the same addresses when it has grown", function ()
    local t = flow.new{key = "uint32_t", value = "uint32_t", limit = 300000,
      reserve = 10}
    local key = ffi.new("uint32_t[1]", 5)
    local first = t:add(key)
    local record = t.record + first
    for n = 6, 200000 do
      key[0] = n
      t.record[t:add(key)].value = n
    end
    for n = 6, 200000, 997 do
      key[0] = n
      assert.equal(n, t.record[t:find(key)].value)
    end
    key[0] = 5
    assert.equal(first, t:find(key))
    assert.equal(5, record.key)
    assert.equal(t.table.index.lines, t.table.index.mask + 1)
  end)

  it("tells its memory beforehand, and takes no more", function ()
    local options = {key = "uint64_t", value = "uint64_t", limit = 100000}
    local told = flow.bytes(flow.record_type("uint64_t", "uint64_t"), 100000)
    local t = flow.new(options)
    local small = t:memory()
    local key = ffi.new("uint64_t[1]")
    for n = 1, 100000 do
      key[0] = n
      same(true, t:add(key) > 0)
    end
    local used, most = t:memory()
    assert.equal(told, most)
    assert.is_true(small < used and used <= most)
    t:clear()
    assert.equal(0, t:count())
    assert.equal(0, t:next(0))
    assert.is_nil(t:each()())
  end)

  it("spreads keys that count up, whatever the secret is", function ()
    for seed = 1, 100 do
      local t = flow.new{key = "uint64_t", limit = 4096, seed = seed}
      local key = ffi.new("uint64_t[1]")
      for n = 1, 4096 do
        key[0] = n
        same(true, t:add(key) > 0)
      end
      local index = t.table.index -- four a line: 5 % of the lines go on, by chance
      assert.is_true(index.more_top < index.lines / 10, tostring(seed))
    end
  end)

  it("gives other hashes with another secret", function ()
    local function hash(seed)
      local t = flow.new{key = "uint64_t", limit = 10, seed = seed}
      return C.pg_flow_index_hash(t.table.index, ffi.new("uint64_t[1]", 77))
    end
    assert.equal(hash(1), hash(1))
    assert.not_equal(hash(1), hash(2))
    assert.not_equal(hash(), hash())
  end)

  it("says what it can't be", function ()
    for text, options in pairs{
      ["a key has 1 to 64 bytes, not 65"] = {key = bytes_type(65), limit = 1},
      ["a table's limit is a number of records from 1 to 134217728, not 0"] =
        {key = "uint32_t", limit = 0},
      ["a full table can \"refuse\" or \"evict\", not drop"] =
        {key = "uint32_t", limit = 1, full = "drop"},
      ["a table has 1 to 8 timeouts, not 0"] = {key = "uint32_t", limit = 1, ages = {}},
      ["a table evicts by age: it needs timeouts"] =
        {key = "uint32_t", limit = 1, full = "evict"},
    } do
      local ok, problem = pcall(flow.new, options)
      assert.is_false(ok)
      assert.matches(text, tostring(problem), 1, true)
    end
  end)
end)

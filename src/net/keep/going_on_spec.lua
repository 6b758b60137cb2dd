-- SPDX-License-Identifier: Apache-2.0
local family = require("net.keep.family")
local ffi = require("ffi")
local flow = require("net.flow.flow")
local going_on = require("net.keep.going_on")
local keep = require("net.keep.keep")
local kept = require("testing.kept")
local outside = require("core.outside.visitors")
local random = require("testing.fuzz.random")
local stderr = require("testing.stderr")
local stdio = require("posix.stdio")
local tables = require("net.keep.tables")
local tree = require("core.shm.tree")

local N, NOW, TIMEOUT = 3000, 1000, 500

local key = ffi.new("uint64_t[1]")

local function find(t, k)
  key[0] = k
  return t:find(key)
end

local function add(t, k, now)
  key[0] = k
  local number = t:add(key, now)
  t.record[number].value = 2 * k
  return number
end

-- A table that is kept, as a process has it that begins at `now`.
local function started(now, limit)
  local t = flow.new{key = "uint64_t", value = "uint64_t", limit = limit or 2 * N,
    ages = {TIMEOUT}}
  keep.records(tables.item{of = "flows", layout = "numbers 1", flows = t,
    now = function () return now end})
  return t
end

-- One with the keys 1 to N, of which each second is out of time at NOW + TIMEOUT / 2.
local function filled()
  local t = started(NOW)
  for k = 1, N do add(t, k, k % 2 == 0 and NOW or NOW - TIMEOUT / 2) end
  return t
end

local function finish()
  repeat outside.tend(0) until stderr.told():find("goes on with")
end

local function files() return tree.names(keep.folder("spec")) end

describe("Going on while packets flow", function ()
  local few = going_on.FEW
  before_each(function ()
    kept.set_up()
    going_on.FEW = 0
  end)
  after_each(function ()
    going_on.FEW = few
    kept.tear_down()
  end)

  it("finds each record at once, and takes the others over in steps", function ()
    filled()
    kept.again()
    local t = started(NOW + 1)
    assert.equal(0, t:count())
    assert.equal("perigee: --keep spec: flows goes on, and checks 3000 records while "
      .. "packets flow\n", stderr.told())
    assert.same({"flows", "flows%20former%201"}, files())
    for k = 100, 200 do
      assert.equal(2 * k, tonumber(t.record[find(t, k)].value))
    end
    assert.equal(101, t:count())
    assert.equal(0, find(t, N + 1))
    stderr.keep()
    finish()
    assert.equal("perigee: --keep spec: flows goes on with 3000 of 3000 records\n",
      stderr.told())
    assert.equal(N, t:count())
    for k = 1, N do assert.equal(2 * k, tonumber(t.record[find(t, k)].value)) end
    assert.same({"flows"}, files())
  end)

  it("finds many at once, and those that are new", function ()
    filled()
    kept.again()
    local t = started(NOW + 1)
    local keys, numbers = ffi.new("uint64_t[64]"), ffi.new("uint32_t[64]")
    for first = 1, N + 200, 64 do
      for i = 0, 63 do keys[i] = first + i end
      t:find_many(keys, 64, numbers)
      for i = 0, 63 do
        assert.equal(first + i <= N, numbers[i] ~= 0)
        if numbers[i] ~= 0 then
          assert.equal(first + i, tonumber(t.record[numbers[i]].key))
        end
      end
    end
    assert.equal(N, t:count())
  end)

  it("drops what is out of time, and has the others in the order of their ages",
    function ()
      filled()
      kept.again()
      local t = started(NOW + TIMEOUT / 2)
      assert.equal(0, find(t, 1))
      assert.not_equal(0, find(t, 2))
      add(t, N + 1, NOW + TIMEOUT / 2)
      stderr.keep()
      finish()
      assert.equal("perigee: --keep spec: flows goes on with 1500 of 3000 records; not "
        .. "used: 1500 out of time\n", stderr.told())
      assert.equal(1500, t:expire(NOW + TIMEOUT, 2 * N))
      assert.equal(1, t:count())
    end)

  it("loses nothing if it is killed meanwhile, again and again", function ()
    filled()
    for i = 1, 5 do
      kept.again()
      local t = started(NOW + i)
      for k = 1 + i, N, 7 do assert.not_equal(0, find(t, k)) end
      add(t, N + i, NOW + i)
      key[0] = i
      t:remove(t:find(key)) -- it is gone for good
    end
    kept.again()
    local t = started(NOW + 9)
    repeat outside.tend(0) until #files() == 1
    assert.equal(N, t:count())
    for k = 1, 5 do assert.equal(0, find(t, k)) end
    for k = 6, N + 5 do assert.not_equal(0, find(t, k)) end
  end)

  it("takes all at once after many that were killed", function ()
    filled()
    for i = 1, 9 do
      kept.again()
      local t = started(NOW + i)
      for k = 1, i do assert.not_equal(0, find(t, k)) end
    end
    assert.is_true(#files() < 9)
    kept.again()
    local t = started(NOW + 10)
    repeat outside.tend(0) until #files() == 1
    assert.equal(N, t:count())
  end)

  it("forgets all when the table is cleared", function ()
    filled()
    kept.again()
    local t = started(NOW + 1)
    t:clear()
    assert.equal(0, find(t, 1))
    outside.tend(0)
    assert.equal(0, t:count())
    assert.same({"flows"}, files())
  end)

  it("goes on when the table is replaced by another one", function ()
    filled()
    kept.again()
    started(NOW + 1)
    local t = started(NOW + 1) -- of this process, too
    assert.not_equal(0, find(t, 7))
    repeat outside.tend(0) until #files() == 1
    assert.equal(N, t:count())
  end)

  it("refuses above the limit", function ()
    filled()
    kept.again()
    local t = started(NOW + 1, 100)
    for k = 1, N do find(t, k) end
    assert.equal(100, t:count())
    repeat outside.tend(0) until #files() == 1
    assert.truthy(stderr.told():find("100 of 3000 records; not used: 2900 above the"))
  end)

  it("needs no hints", function ()
    filled()
    tree.remove(keep.folder("spec") .. "/.hints")
    kept.again()
    assert.equal(N, started(NOW + 1):count())
  end)

  it("believes no hints", function ()
    local path = keep.folder("spec") .. "/.hints/flows"
    local seed = os.time()
    for i = 1, kept.MUTANTS / 10 do
      local chance = random.new(seed, i)
      tree.remove(keep.folder("spec"))
      kept.again()
      local before = filled()
      local file = assert(io.open(path, "r+b"))
      local size = file:seek("end")
      for _ = 1, chance:range(1, 2000) do
        local from = chance:range(0, 3) == 0 and 8 or 4096 -- its header, or lines
        file:seek("set", chance:range(from, size - 1))
        file:write(string.char(chance:range(0, 255)))
      end
      file:close()
      kept.again()
      local t = started(NOW + 1)
      for k = 1, N + 100, 3 do
        local number = find(t, k)
        assert(number == 0 or t.record[number].key == k,
          ("seed %d, mutant %d"):format(seed, i))
      end
      repeat outside.tend(0) until #files() == 1
      assert.equal(N, t:count())
      assert(before)
    end
  end)

  -- A copy's table, with an item of the family that starts when begin() is called.
  local function copy(number)
    local t = flow.new{key = "uint64_t", value = "uint64_t", limit = N,
      ages = {TIMEOUT}}
    local item = tables.item{of = "flows on CPU " .. number, layout = "numbers 1",
      flows = t, now = function () return NOW end}
    item.family, item.copies, item.moves = "flows", 2, true
    return t, function () keep.records(item) end
  end

  it("lets copies begin at the same time, with all that others had", function ()
    for number = 1, 2 do
      local t, begin = copy(number)
      begin()
      for k = 1, 10 do add(t, 100 * number + k, NOW) end
    end
    kept.again()
    local first, begin_first = copy(1)
    local second, begin_second = copy(2)
    local put_aside = going_on.put_aside
    finally(function () going_on.put_aside = put_aside end)
    function going_on.put_aside(...) -- of the first, as the second begins and ends
      going_on.put_aside = put_aside
      begin_second()
      return put_aside(...)
    end
    begin_first()
    assert.same({20, 20}, {first:count(), second:count()})
    assert.same({"flows%20on%20CPU%201", "flows%20on%20CPU%202"}, files())
  end)

  -- The tables of `n` copies that move nothing, all of which have begun, or those from
  -- `first` to `last`.
  local function copies(n, first, last)
    local list = {}
    for i = first or 1, last or n do
      list[i] = flow.new{key = "uint64_t", value = "uint64_t", limit = 2 * N,
        ages = {TIMEOUT}}
      local item = tables.item{of = family.member("flows", i, n), layout = "numbers 1",
        flows = list[i], now = function () return NOW end}
      item.family, item.copies = "flows", n
      keep.records(item)
    end
    return list
  end
  local function all_there(list)
    for _, t in ipairs(list) do
      assert.equal(N, t:count())
      for k = 1, N do assert.equal(2 * k, tonumber(t.record[find(t, k)].value)) end
    end
  end
  local ONE, TWO = {"flows"}, {"flows%20on%20CPU%201%20of%202",
    "flows%20on%20CPU%202%20of%202"}
  local function wait_for_files(wanted)
    for _ = 1, 1e5 do
      outside.tend(0)
      if #files() == #wanted then break end
    end
    assert.same(wanted, files())
  end

  it("finds what other copies had, whose files stay until all have it", function ()
    filled()
    kept.again()
    local list = copies(2)
    assert.same({0, 0}, {list[1]:count(), list[2]:count()})
    for i, t in ipairs(list) do
      for k = i, 200, 2 do assert.equal(2 * k, tonumber(t.record[find(t, k)].value)) end
      assert.equal(100, t:count())
    end
    repeat outside.tend(0) until list[1]:count() == N or list[2]:count() == N
    assert.equal(3, #files())
    wait_for_files(TWO)
    all_there(list)
    kept.again()
    list = copies(1)
    assert.equal(0, list[1]:count())
    assert.equal(14, tonumber(list[1].record[find(list[1], 7)].value))
    wait_for_files(ONE)
    all_there(list)
    assert.same({}, tree.names(keep.folder("spec") .. "/.hints/" .. TWO[1]))
  end)

  it("has hints of each copy where several begin at once", function ()
    local rename, begin_second = stdio.rename
    stub(stdio, "rename").invokes(function (from, to)
      if to:find("CPU%%201") and to:find("/.hints/", 1, true) then begin_second() end
      return rename(from, to)
    end)
    finally(function () stdio.rename:revert() end)
    function begin_second() copies(2, 2) end
    copies(2, 1, 1)
    assert.same(TWO, tree.names(keep.folder("spec") .. "/.hints"))
  end)

  it("loses nothing of other copies' if it is killed meanwhile", function ()
    filled()
    for turn = 1, 3 do
      kept.again()
      local list = copies(turn == 2 and 1 or 2)
      for k = turn, N, 7 do
        assert.not_equal(0, find(list[1], k))
        list[1].record[find(list[1], k)].value = 2 * k
      end
      outside.tend(0)
    end
    kept.again()
    local list = copies(2)
    wait_for_files(TWO)
    all_there(list)
    assert.is_nil(stderr.told():find("twice"))
  end)

  it("goes on with other copies' when the table is replaced", function ()
    filled()
    kept.again()
    copies(2)
    local list = copies(2)
    assert.not_equal(0, find(list[2], 9))
    wait_for_files(TWO)
    all_there(list)
  end)
end)

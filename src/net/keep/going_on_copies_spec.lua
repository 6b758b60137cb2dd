-- SPDX-License-Identifier: Apache-2.0
-- Copies on several CPUs go on with what others had, however many there were.

local family = require("net.keep.family")
local going_on = require("net.keep.going_on")
local keep = require("net.keep.keep")
local kept = require("testing.kept")
local numbers = require("testing.kept_numbers")
local outside = require("core.outside.visitors")
local stderr = require("testing.stderr")
local stdio = require("posix.stdio")
local tree = require("core.shm.tree")

local N, NOW = numbers.N, numbers.NOW
local find, add = numbers.find, numbers.add
local filled, files = numbers.filled, numbers.files

describe("Going on with what copies had", function ()
  before_each(function () kept.set_up(0) end)
  after_each(kept.tear_down)

  -- A copy's table, with an item of the family that starts when begin() is called.
  local function copy(number)
    local t, item = numbers.table("flows on CPU " .. number, NOW, N)
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
    repeat outside.tend(0) until first:count() + second:count() == 40
    assert.is_false(going_on.is_at_work())
    assert.same({"flows%20on%20CPU%201", "flows%20on%20CPU%202"}, files())
  end)

  -- The tables of `n` copies, all of which have begun, or those from `first` to `last`;
  -- `moves`: of records that move.
  local function copies(n, first, last, moves)
    local list = {}
    for i = first or 1, last or n do
      local item
      list[i], item = numbers.table(family.member("flows", i, n, moves), NOW)
      item.family, item.copies, item.moves = "flows", n, moves
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

  it("lets records wait that may move later, for any number of copies", function ()
    local moving = {"flows%20on%20CPU%201", "flows%20on%20CPU%202"}
    filled()
    for _, n in ipairs{2, 1, 2} do
      kept.again()
      family.hand_over(keep.folder("spec"))
      local list = copies(n, nil, nil, true)
      for _, t in ipairs(list) do
        assert.equal(0, t:count()) -- none was read
        assert.equal(14, tonumber(t.record[find(t, 7)].value))
        assert.equal(1, t:count())
      end
      assert.is_true(going_on.is_at_work())
      wait_for_files(n == 1 and ONE or moving)
      assert.is_false(going_on.is_at_work())
      all_there(list)
    end
  end)

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

-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local keep = require("net.keep.keep")
local kept = require("testing.kept")
local kept_numbers = require("testing.kept_numbers")
local outside = require("core.outside.visitors")
local random = require("testing.fuzz.random")
local stderr = require("testing.stderr")
local tree = require("core.shm.tree")

local N, NOW, TIMEOUT = kept_numbers.N, kept_numbers.NOW, kept_numbers.TIMEOUT
local find, add, started = kept_numbers.find, kept_numbers.add, kept_numbers.started
local filled, files = kept_numbers.filled, kept_numbers.files

local function finish()
  repeat outside.tend(0) until stderr.told():find("goes on with")
end

describe("Going on while packets flow", function ()
  before_each(function () kept.set_up(0) end)
  after_each(kept.tear_down)

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

  it("leaves what can't be put aside where it is, and goes on with it", function ()
    filled()
    kept.again()
    local full = kept.path("flows former 64") -- there are no more
    assert(io.open(full, "w")):close()
    assert.equal(N, started(NOW + 1):count())
    assert.truthy(stderr.told():find("the state of flows isn't kept: 64 files are put "
      .. "aside; tried again each second", 1, true))
    os.remove(full)
    kept.again()
    stderr.keep()
    started(NOW + 1)
    finish()
    assert.truthy(stderr.told():find("flows goes on with 3000 of 3000", 1, true))
  end)

  it("says that what is there has no records", function ()
    started(NOW)
    kept.again()
    started(NOW)
    assert.equal("perigee: --keep spec: flows starts empty: the file that is there has "
      .. "no records\n", stderr.told())
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
      t:remove(find(t, i)) -- it is gone for good
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
end)

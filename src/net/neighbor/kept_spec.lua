-- SPDX-License-Identifier: Apache-2.0
local dirent = require("posix.dirent")
local going_on = require("net.keep.going_on")
local outside = require("core.outside.visitors")
local cache = require("net.neighbor.cache")
local keep = require("net.keep.keep")
local kept = require("testing.kept")
local neighbor_kept = require("net.neighbor.kept")
local packet = require("core.packet")
local stderr = require("testing.stderr")

local A, B, C = "\2\0\0\0\0\1", "\2\0\0\0\0\2", "\2\0\0\0\0\3"
local IP6 = ("\253"):rep(15) .. "\1"

-- A cache in seconds, and what of it is kept from `now` on.
local function started(now, settings)
  local list = cache.new(settings or {timeout = 60})
  keep.records(neighbor_kept.item(list, {of = "neighbours", scale = 1000,
    now = function () return now end}))
  return list
end

-- What is known, by address, and until when.
local function known(list)
  local all = {}
  for e in list:each() do
    if e.known then all[e.ip] = {e.mac, e.live_at} end
  end
  return all
end

describe("A neighbour cache that outlives the process", function ()
  before_each(kept.set_up)
  after_each(kept.tear_down)

  it("goes on with what is known, as old as it was", function ()
    local list = started(1000)
    list:insert(-5, A, 990)
    list:insert(IP6, B, 1000.5)
    list:insert("\1\2\3\4", B, 1001)
    list:insert("\1\2\3\4", C, 1002) -- it has another address now
    list:insert(7, A, 1003)
    list:remove(list:find(7))
    list:insert(8, A, 1003)
    list:insert(8, nil, 1004) -- it isn't known any more
    assert.equal(cache.ASK, list:append(9, packet.allocate(), 1004))
    list:clear()
    list = started(1000) -- the old one's file is this one's
    for _, e in ipairs{{-5, A, 990}, {IP6, B, 1000.5}, {"\1\2\3\4", C, 1002}} do
      list:insert(unpack(e))
    end
    kept.again()
    local list2 = started(1055)
    assert.same({["\1\2\3\4"] = {C, 1002}, [IP6] = {B, 1000.5}}, known(list2))
    assert.equal("perigee: --keep spec: neighbours goes on with 2 of 3 records; not "
      .. "used: 1 out of time\n", stderr.told())
    assert.equal(IP6, list2:by_age()[1].ip) -- in the order of their ages
  end)

  it("keeps each change", function ()
    local list = started(1000)
    list:insert(1, A, 1000)
    list:insert(2, A, 1000)
    list:insert(3, A, 1000)
    list:insert(2, B, 1001)
    list:insert(3, nil, 1001)
    list:remove(list:find(1))
    kept.again()
    assert.same({[2] = {B, 1001}}, known(started(1002)))
  end)

  -- Many wait, of which one is found.
  local function many(n, settings)
    local few = going_on.FEW
    finally(function () going_on.FEW = few end)
    going_on.FEW = 0
    local list = started(1000)
    for i = 1, n do
      list:insert(i, A, 1000 + i / n)
      list:insert(("%016d"):format(i), B, 1000 + i / n)
    end
    list:insert("late", C, 940)
    kept.again()
    return started(1002, settings)
  end
  local function finish()
    repeat outside.tend(0) until stderr.told():find("goes on with")
  end

  it("finds whom it knew before all are there", function ()
    local list = many(3000)
    assert.equal(0, list.count)
    assert.equal(A, list:find(17).mac)
    assert.near(1000.0055, list:find(17).live_at, 0.001) -- in milliseconds
    assert.equal(B, list:find_at(("%016d"):format(2999), 16).mac)
    assert.is_nil(list:find("late"))
    assert.is_nil(list:find(3001))
    assert.equal(2, list.count)
    assert.equal(cache.KNOWN, list:append(18, packet.allocate(), 1002))
    assert.equal(C, list:insert(19, C, 1002).mac) -- it has moved
    list:remove(list:find(20))
    finish()
    assert.truthy(stderr.told():find("neighbours goes on with 6000 of 6001 records; "
      .. "not used: 1 out of time\n"))
    assert.equal(5999, list.count)
    assert.equal(C, list:find(19).mac)
    assert.is_nil(list:find(20))
    list:slim(1000.5 + 60) -- the oldest are the first to go
    assert.near(3000, list.count, 10)
    -- All of it is kept again.
    kept.again()
    assert.equal(C, started(1003):find(19).mac)
  end)

  it("takes the others in many steps, beside packets", function ()
    local list, steps = many(3000), 0
    repeat
      outside.tend(0)
      steps = steps + 1
    until list.count == 6000
    assert.truthy(steps > 20)
  end)

  it("has no more of them than there may be", function ()
    local list = many(3000, {timeout = 60, entry_capacity = 100})
    list:insert(7, C, 1002)
    finish()
    assert.equal(100, list.count)
    assert.equal(C, list:find(7).mac)
    assert.equal(100, list.store.flows:count())
    assert.truthy(stderr.told():find("above the capacity", 1, true))
  end)

  it("forgets those that wait, too, when all go", function ()
    local list = many(300)
    list:find(3)
    list:clear()
    assert.is_nil(list:find(4))
    repeat outside.tend(0) until stderr.told():find("goes on with")
    assert.same({0, 0}, {list.count, list.store.flows:count()})
  end)

  it("goes on where it was killed before it had all", function ()
    many(3000):insert(5, C, 1002)
    kept.again()
    local list = started(1003)
    assert.same({C, A, B}, {list:find(5).mac, list:find(6).mac,
      list:find(("%016d"):format(6)).mac})
    repeat outside.tend(0) until list.count == 6000
  end)

  it("is asked for by another cache while many wait", function ()
    local list = many(300)
    local other = cache.new{timeout = 60}
    list:ensure("half", 1002)
    other:swap(list)
    keep.records(neighbor_kept.item(other, {of = "neighbours", scale = 1000,
      now = function () return 1002 end}))
    assert.equal(A, other:find(9).mac)
    finish()
    assert.is_false(other:find("half").known)
    assert.equal(601, other.count)
  end)

  it("takes no more descriptors when others get it one after the other", function ()
    local list = started(1000)
    list:insert(1, A, 1000)
    local before = #dirent.dir("/proc/self/fd")
    collectgarbage("stop")
    finally(function () collectgarbage("restart") end)
    for i = 1, 20 do
      local other = cache.new{timeout = 60 + i}
      other:swap(list)
      list:clear() -- it ends
      keep.records(neighbor_kept.item(other, {of = "neighbours", scale = 1000,
        now = function () return 1000 end}))
      list = other
    end
    assert.equal(before, #dirent.dir("/proc/self/fd"))
    list:insert(2, B, 1000)
    kept.again()
    assert.same({[1] = {A, 1000}, [2] = {B, 1000}},
      known(started(1079, {timeout = 80})))
  end)

  it("isn't cleared with a cache whose contents another one has got", function ()
    local list = started(1000)
    list:insert(1, A, 1000)
    cache.new{timeout = 60}:swap(list)
    list:clear()
    kept.again() -- it is killed before that one keeps them
    assert.same({[1] = {A, 1000}}, known(started(1001)))
  end)

  it("has no times in the future, nor any without a timeout", function ()
    started(1000, {}):insert(1, A, 1000)
    kept.again()
    local list = started(500, {})
    assert.same({[1] = {A, 500}}, known(list))
    assert.equal(math.huge, list:find(1).expires)
  end)

  it("believes no file", function ()
    local list = started(1000)
    for i = 1, 20 do list:insert(i, A, 1000) end
    for i = 1, 20 do list:insert(string.char(i):rep(16), B, 1000) end
    kept.mutate("neighbours", kept.MUTANTS, function ()
      local list2 = started(1010)
      local n = 0
      for e in list2:each() do
        local ip = e.ip
        assert.truthy(type(ip) == "number" or #ip == 4 or #ip == 16)
        assert.equal(6, #e.mac)
        assert.truthy(e.live_at <= 1010 and e.live_at >= 950)
        n = n + 1
      end
      assert.equal(n, list2.count)
      list2:slim(2000)
      assert.equal(0, list2.count)
      assert.equal(0, list2.store.flows:count())
    end)
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
local fdb = require("net.fdb.fdb")
local fdb_kept = require("net.fdb.kept")
local ffi = require("ffi")
local going_on = require("net.keep.going_on")
local keep = require("net.keep.keep")
local kept = require("testing.kept")
local outside = require("core.outside.visitors")
local stderr = require("testing.stderr")

local function key(n, segment)
  return fdb.key(ffi.new("uint8_t[8]", 2, 0, 0, 0, 0, n), segment or 0)
end

-- A database of ports with such names, and what of it is kept from now on.
local function started(names, now)
  local t = fdb.new{limit = 100, timeout = 60}
  t:set_now(now)
  local notes, port, numbers = fdb_kept.by_name(names)
  keep.records(fdb_kept.item(t, {of = "bridge", notes = notes, port = port,
    numbers = numbers}))
  return t
end

describe("A forwarding database that outlives the process", function ()
  before_each(kept.set_up)
  after_each(kept.tear_down)

  it("goes on with what was learned, at the ports of the same names", function ()
    local t = started({"a", "b", "c"}, 1000)
    t:learn(key(1), 1)
    t:learn(key(2, 7), 2)
    t:learn(key(3), 3)
    t:fix(key(4), 1)
    t:set_now(1050)
    t:learn(key(1), 1)
    kept.again()
    local t2 = started({"b", "a"}, 1055)
    assert.equal(2, t2:port(key(1)))
    assert.equal(1, t2:port(key(2, 7)))
    assert.is_nil(t2:port(key(3)))
    assert.is_nil(t2:port(key(4)))
    assert.equal("perigee: --keep spec: bridge goes on with 2 of 3 records; not used: "
      .. "1 of a port that is gone\n", stderr.told())
    -- As old as they were, and of the same list: seen once goes first.
    t2:set_now(1061)
    assert.is_nil(t2:port(key(2, 7)))
    assert.equal(2, t2:port(key(1)))
    assert.same({fdb.SAME, 2}, {t2:learn(key(1), 2)})
    t2:set_now(1122)
    assert.is_nil(t2:port(key(1)))
  end)

  it("finds what was learned before all is restored", function ()
    local few = going_on.FEW
    finally(function () going_on.FEW = few end)
    going_on.FEW = 0
    local t = started({"a", "b", "c"}, 1000)
    for n = 1, 60 do t:learn(key(n), n % 3 + 1) end
    t:fix(key(61), 1)
    kept.again()
    local t2 = started({"b", "a"}, 1001)
    assert.equal(0, (t2:count()))
    for n = 1, 20 do
      local now = ({2, 1, "unknown"})[n % 3 + 1]
      assert.equal(now, (t2:port(key(n))) or "unknown")
    end
    assert.same({fdb.MOVED, 2}, {t2:learn(key(21), 1)})
    repeat outside.tend(0) until stderr.told():find("goes on with")
    assert.truthy(stderr.told():find("bridge goes on with 40 of 60 records; not used: "
      .. "20 of a port that is gone\n"))
    assert.equal(40, (t2:count()))
    assert.is_nil(t2:port(key(61)))
  end)

  it("drops what is out of time", function ()
    local t = started({"a"}, 1000)
    t:learn(key(1), 1)
    kept.again()
    assert.equal(0, (started({"a"}, 1061):count()))
    assert.equal("perigee: --keep spec: bridge goes on with 0 of 1 records; not used: "
      .. "1 out of time\n", stderr.told())
  end)

  it("believes no file", function ()
    local t = started({"a", "b"}, 1000)
    for i = 1, 40 do t:learn(key(i), i % 2 + 1) end
    kept.mutate("bridge", kept.MUTANTS, function ()
      local t2 = started({"a", "b"}, 1010)
      local n = 0
      for number in t2:each() do
        local port, static, k, seen = t2:entry(number)
        assert.truthy(port == 1 or port == 2)
        assert.is_false(static)
        assert.equal(0ULL, k % 2) -- no group
        assert.truthy(seen <= 1010)
        assert.equal(number, t2:find(k))
        n = n + 1
      end
      assert.equal(n, (t2:count()))
      t2:set_now(2000)
      assert.equal(n, t2:expire(100))
      assert.equal(0, (t2:count()))
    end)
  end)
end)

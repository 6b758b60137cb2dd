-- SPDX-License-Identifier: Apache-2.0
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

-- SPDX-License-Identifier: Apache-2.0
-- The neighbour cache on a simulated clock: states, limits, waiting packets, ageing.
-- Click's and the VTEP's specs say the rest, each with its own settings.

local cache = require("net.neighbor.cache")
local packet = require("core.packet")

local function waiting(text) return packet.from_string(text) end

local function text_of(packets)
  local list = {}
  for i, p in ipairs(packets) do
    list[i] = require("ffi").string(p.data, p.length)
    packet.free(p)
  end
  return table.concat(list, ",")
end

describe("net.neighbor.cache", function ()
  it("keeps packets until the address is known", function ()
    local list = cache.new{between = 1}
    assert.equal(cache.ASK, list:append("h", waiting("a"), 0))
    assert.equal(cache.WAIT, list:append("h", waiting("b"), 0.9))
    assert.equal(cache.ASK, list:append("h", waiting("c"), 1))
    assert.equal(3, list.length)
    assert.equal("a,b,c", text_of(list:take(list:insert("h", "MAC", 1))))
    assert.same({0, 1, "MAC"}, {list.length, list.count, list.entries.h.mac})
    local p = waiting("d")
    assert.equal(cache.KNOWN, list:append("h", p, 2))
    packet.free(p)
  end)

  it("asks less often after so many requests", function ()
    local list, asked = cache.new{between = 1, early = 3, later = 10}, {}
    local e = list:ensure("h", 0)
    for now = 0, 40 do if list:poll(e, now) then asked[#asked + 1] = now end end
    assert.same({0, 1, 2, 12, 22, 32}, asked)
  end)

  it("lets few packets wait for one: the first, or the newest", function ()
    for newest, expected in pairs{[false] = "a,b", [true] = "b,c"} do
      local list = cache.new{entry_packets = 2, newest = newest}
      list:append("h", waiting("a"), 0)
      list:append("h", waiting("b"), 0)
      local p = waiting("c")
      if list:append("h", p, 0) == cache.FULL then packet.free(p) end
      assert.same({2, 1}, {list.length, list.drops})
      assert.equal(expected, text_of(list:take(list.entries.h)))
    end
  end)

  it("limits packets, the oldest entry's first, and entries", function ()
    local list = cache.new{capacity = 4, slim_factor = 2, entry_capacity = 3}
    for i, ip in ipairs{1, 1, 2, 2, 3} do list:append(ip, waiting(tostring(i)), i) end
    assert.same({2, 3}, {list.length, list.drops})
    assert.equal("", text_of(list:take(list.entries[1])))
    list:ensure(4, 9)
    assert.is_nil(list.entries[1])
    assert.equal(3, list.count)
    list:clear()
    assert.same({0, 0, nil}, {list.length, list.count, list.oldest})
  end)

  it("forgets first what it hasn't heard of for longest", function ()
    local list = cache.new{entry_capacity = 2}
    list:insert("a", "MAC", 0)
    list:insert("b", "MAC", 1)
    list:insert("a", "MAC", 2)
    list:insert("c", "MAC", 3)
    assert.same({true, false, true}, {list.entries.a ~= nil, list.entries.b ~= nil,
      list.entries.c ~= nil})
  end)

  it("lets entries age, but not while packets are sent there", function ()
    local list = cache.new{timeout = 10}
    list:insert("a", "MAC", 0)
    list:insert("b", "MAC", 5)
    local p = waiting("p")
    assert.equal(cache.KNOWN, list:append("a", p, 10))
    assert.equal(cache.ASK, list:append("a", p, 11))
    list:slim(11)
    assert.truthy(list.entries.a)
    list:slim(22)
    assert.same({0, 0, 1}, {list.count, list.length, list.drops})
  end)

  it("asks for what it hasn't heard of, and gives up", function ()
    local list, asked = cache.new{between = 1, reachable = 30, tries = 3}, 0
    local function ask(ip)
      assert.equal("h", ip)
      asked = asked + 1
    end
    local e = list:insert("h", "MAC", 0)
    for now = 0, 29 do assert.is_false(list:tend(e, now, ask)) end
    assert.equal(0, asked)
    for now = 30, 32 do assert.is_false(list:tend(e, now, ask)) end
    assert.equal("MAC", e.mac) -- it is asked, still, whether it is there
    assert.is_true(list:tend(e, 33, ask))
    assert.same({4, nil, false}, {asked, e.mac, e.known})
    list:insert("h", "NEW", 34)
    assert.is_false(list:tend(e, 35, ask))
    assert.same({4, "NEW"}, {asked, e.mac})
    for now = 64, 66 do assert.is_false(list:tend(e, now, ask)) end -- all tries again
    assert.is_true(list:tend(e, 67, ask))
  end)

  it("counts as many requests as it takes to give up", function ()
    local list, asked = cache.new{between = 1, tries = 300}, 0
    local e, now = list:ensure("h", 0), 0
    local function ask() asked = asked + 1 end
    while asked < 400 and not list:tend(e, now, ask) do now = now + 1 end
    assert.equal(301, asked)
  end)

  it("says when an address is another", function ()
    local told = {}
    local list = cache.new{tries = 0, reachable = 0, changed = function (e)
      told[#told + 1] = e.mac or "none"
    end}
    list:tend(list:insert("h", "MAC", 0), 1, function () end)
    assert.same({"none", "MAC", "none"}, told)
  end)
end)

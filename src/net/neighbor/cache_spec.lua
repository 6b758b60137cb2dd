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
    assert.same({0, 1, "MAC"}, {list.length, list.count, list:find("h").mac})
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
      assert.equal(expected, text_of(list:take(list:find("h"))))
    end
  end)

  it("limits packets, the oldest entry's first, and entries", function ()
    local list = cache.new{capacity = 4, slim_factor = 2, entry_capacity = 3}
    for i, ip in ipairs{1, 1, 2, 2, 3} do list:append(ip, waiting(tostring(i)), i) end
    assert.same({2, 3}, {list.length, list.drops})
    assert.equal("", text_of(list:take(list:find(1))))
    list:ensure(4, 9)
    assert.is_nil(list:find(1))
    assert.equal(3, list.count)
    list:clear()
    assert.same({0, 0, nil}, {list.length, list.count, list.spare.oldest})
  end)

  it("forgets first what it hasn't heard of for longest", function ()
    local list = cache.new{entry_capacity = 2}
    list:insert("a", "MAC", 0)
    list:insert("b", "MAC", 1)
    list:insert("a", "MAC", 2)
    list:insert("c", "MAC", 3)
    assert.same({true, false, true}, {list:find("a") ~= nil, list:find("b") ~= nil,
      list:find("c") ~= nil})
  end)

  it("lets entries age, but not while packets are sent there", function ()
    local list = cache.new{timeout = 10}
    list:insert("a", "MAC", 0)
    list:insert("b", "MAC", 5)
    local p = waiting("p")
    assert.equal(cache.KNOWN, list:append("a", p, 10))
    assert.equal(cache.ASK, list:append("a", p, 11))
    list:slim(11)
    assert.truthy(list:find("a"))
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

-- Numbers that are all in one place of a Lua table of up to 4,096: its hash of a
-- number, which has no secret (LuaJIT's hashrot, lj_tab.c).
local function collide_in_lua(n)
  local bit, ffi = require("bit"), require("ffi")
  local u = ffi.new("union { double number; uint32_t half[2]; }")
  local rol, band, bxor, tobit = bit.rol, bit.band, bit.bxor, bit.tobit
  local list, number = {}, 0
  while #list < n do
    number = number + 1
    u.number = number
    local high = tobit(u.half[1] * 2)
    local low = bxor(tobit(u.half[0]), high)
    high = rol(high, 14)
    low = tobit(low - high)
    high = bxor(rol(high, 5), low)
    if band(tobit(high - rol(low, 13)), 4095) == 0 then list[#list + 1] = number end
  end
  return list
end

describe("net.neighbor.cache under attack", function ()
  local MAC = "\2\0\0\0\0\1"

  -- Three neighbours that packets go to, in a cache with the settings.
  local function with_neighbours(settings)
    local list = cache.new(settings)
    for ip = 1, 2 do -- they were asked for
      list:append(ip, waiting("p"), 0)
      text_of(list:take(list:insert(ip, MAC, 0)))
    end
    list:use(list:insert(3, MAC, 0))
    return list
  end

  local function knows_neighbours(list)
    for ip = 1, 3 do assert.equal(MAC, list:find(ip).mac) end
  end

  it("keeps who is in use, whatever answers nobody asked for", function ()
    local gone = 0
    local list = with_neighbours{gone = function () gone = gone + 1 end}
    for i = 1, cache.MOST + 5000 do list:insert(100 + i, MAC, i) end
    assert.same({cache.MOST, 5003}, {list.count, gone})
    knows_neighbours(list)
    assert.is_nil(list:find(101))
    assert.truthy(list:find(100 + cache.MOST + 5000))
  end)

  it("keeps who is in use, wherever packets are sent to", function ()
    local list = with_neighbours{entry_capacity = 500, capacity = 100}
    local free = 0
    for i = 1, 5000 do
      if list:append(("%016d"):format(i), waiting("p"), i) == cache.ASK then
        free = free + 1
      end
    end
    assert.equal(5000, free)
    assert.equal(500, list.count)
    assert.truthy(list.length <= 100)
    knows_neighbours(list)
    list:clear()
    assert.same({0, 0}, {list.length, list.count})
  end)

  it("gives up one in use for one in use", function ()
    local list = with_neighbours{entry_capacity = 3, reachable = 0, tries = 0}
    list:use(list:insert(4, MAC, 1))
    assert.same({nil, 3}, {list:find(1), list.count})
    assert.is_true(list:tend(list:find(2), 3, function () end))
    list:insert(5, MAC, 4) -- in the place of who doesn't answer
    assert.same({nil, MAC}, {list:find(2), list:find(3).mac})
  end)

  it("is as fast with addresses chosen so that Lua's hashes collide", function ()
    local function seconds(addresses)
      local list, best = cache.new{entry_capacity = 4096}, math.huge
      for _, ip in ipairs(addresses) do list:insert(ip, MAC, 0) end
      for _ = 1, 20 do
        local from = os.clock()
        for i = 1, #addresses do assert(list:find(addresses[i])) end
        best = math.min(best, os.clock() - from)
      end
      return best
    end
    local others = {}
    for i = 1, 4000 do others[i] = i * 3571 end
    local usual = seconds(others)
    assert.truthy(seconds(collide_in_lua(4000)) < 20 * usual) -- of a Lua table 100
  end)

  it("has more room when it is told, and hands all over", function ()
    local list, other = with_neighbours{entry_capacity = 3}, cache.new{}
    list:set_entry_capacity(100000)
    for i = 4, 100001 do list:insert(i, MAC, i) end
    assert.equal(100000, list.count)
    knows_neighbours(list)
    list.store = {note = function () end, forget = function () end}
    local few = with_neighbours{entry_capacity = 3}
    few:swap(list)
    assert.same({100000, 3}, {few.count, list.count})
    few:slim(100001)
    assert.equal(3, few.count)
    knows_neighbours(few)
    other:swap(few)
    knows_neighbours(other)
    assert.is_nil(few:find(1))
  end)
end)

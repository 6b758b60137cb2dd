-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local fdb = require("net.fdb.fdb")

local function key(n, segment)
  local mac = ffi.new("uint8_t[6]", 2, 0, math.floor(n / 2 ^ 24) % 256,
    math.floor(n / 2 ^ 16) % 256, math.floor(n / 256) % 256, n % 256)
  return fdb.key(mac, segment or 1)
end

local function new(options)
  return fdb.new{limit = options.limit or 100, timeout = options.timeout or 300}
end

-- luassert is slow.
local function same(expected, value)
  if expected ~= value then assert.equal(expected, value) end
end

-- What a database of a Lua table is: address -> {port, seen, static}.
local Model = {}
Model.__index = Model

function Model:port(n)
  local e = self[n]
  if e and (e.static or self.now - e.seen <= self.timeout) then return e.port end
end

function Model:learn(n, port)
  local had = self:port(n)
  if had and self[n].static then return fdb.FIXED end
  self[n] = {port = port, seen = self.now}
  return had == nil and fdb.LEARNED or had == port and fdb.SAME or fdb.MOVED
end

local function random_step(t, model, most)
  local n, port = math.random(0, most - 1), math.random(0, 3) * 21845
  local k = key(n % 1000, math.floor(n / 1000) * 65535)
  local chance = math.random()
  if chance < 0.6 then
    same(model:learn(n, port), (t:learn(k, port)))
  elseif chance < 0.602 then
    model[n] = {port = port, static = true}
    t:fix(k, port)
  elseif chance < 0.65 then
    t:remove(k)
    model[n] = nil
  end
  same(model:port(n), (t:port(k)))
end

describe("A forwarding database", function ()
  it("agrees with a table of Lua's, of few and of many addresses", function ()
    math.randomseed(5)
    for _, most in ipairs{100, 2000} do
      local t = new{limit = 4000, timeout = 50}
      local model = setmetatable({now = 0, timeout = 50}, Model)
      for step = 1, 60000 do
        random_step(t, model, most)
        if step % 100 == 0 then
          model.now = model.now + math.random(0, 2)
          t:set_now(model.now)
          t:expire(math.random(0, 50))
        end
      end
      for n = 0, most - 1 do
        same(model:port(n), (t:port(key(n % 1000, math.floor(n / 1000) * 65535))))
      end
      assert.is_true(t.fdb.moves > 0)
      assert.equal(0, tonumber(t.fdb.full))
    end
  end)

  it("tells keys apart by address and segment, and what they are", function ()
    local t = new{}
    local mac = ffi.new("uint8_t[8]", 2, 1, 3, 5, 7, 9, 255, 255)
    t:learn(fdb.key(mac, 65535), 65535)
    assert.equal(65535, (t:port(fdb.key(mac, 65535))))
    assert.is_nil((t:port(fdb.key(mac, 65534))))
    for i = 0, 5 do
      mac[i] = mac[i] + 16
      assert.is_nil((t:port(fdb.key(mac, 65535))))
      mac[i] = mac[i] - 16
    end
    assert.same({"\2\1\3\5\7\9", 65535}, {fdb.of_key(fdb.key(mac, 65535))})
  end)

  it("tells when an address moves, and from where", function ()
    local t = new{}
    assert.same({fdb.LEARNED}, {t:learn(key(1), 0)})
    assert.same({fdb.SAME, 0}, {t:learn(key(1), 0)})
    assert.same({fdb.MOVED, 0}, {t:learn(key(1), 7)})
    assert.same({fdb.SAME, 7}, {t:learn(key(1), 7)})
    t:set_now(1000)
    assert.same({fdb.LEARNED, 7}, {t:learn(key(1), 8)})
    assert.equal(1, tonumber(t.fdb.moves))
    assert.equal(8, t:remove(key(1)))
    assert.is_nil(t:remove(key(1)))
  end)

  it("learns no address of a group", function ()
    local t = new{}
    for first = 1, 255, 2 do
      local mac = ffi.new("uint8_t[6]", first, 0, 0, 0, 0, 1)
      assert.equal(fdb.GROUP, (t:learn(fdb.key(mac, 1), 3)))
      assert.equal(fdb.GROUP, (t:fix(fdb.key(mac, 1), 3)))
    end
    assert.equal(0, (t:count()))
  end)

  it("knows an address for the timeout, and up to that", function ()
    local t = new{timeout = 10}
    t:set_now(5)
    t:learn(key(1), 3)
    t:set_now(15)
    assert.equal(3, (t:port(key(1))))
    assert.equal(0, t:expire(9))
    t:set_now(16)
    assert.is_nil((t:port(key(1))))
    local gone = {}
    assert.equal(1, t:expire(9, function (port) gone[#gone + 1] = port end))
    assert.same({3}, gone)
    assert.equal(0, (t:count()))
  end)

  it("keeps what was configured, and takes it for what was learned", function ()
    local t = new{timeout = 10}
    t:learn(key(1), 3)
    assert.same({fdb.MOVED, 3}, {t:fix(key(1), 4)})
    t:fix(key(2), 5)
    assert.same({fdb.FIXED, 4}, {t:learn(key(1), 9)})
    t:set_now(2 ^ 40)
    assert.equal(0, t:expire(9))
    local port, static = t:port(key(1))
    assert.same({4, true}, {port, static})
    assert.equal(5, (t:port(key(2))))
  end)

  it("is flooded with random addresses, and loses nothing that is in use", function ()
    local t = new{limit = 4000}
    for n = 1, 3000 do
      t:learn(key(n), n)
      t:learn(key(n), n)
    end
    t:fix(key(4000), 7)
    for n = 10001, 110000 do t:learn(key(n), 9) end
    for n = 1, 3000 do same(n, (t:port(key(n)))) end
    assert.equal(7, (t:port(key(4000))))
    assert.same({4000, 4000}, {t:count()})
    assert.equal(100000 - 999, tonumber(t.fdb.evicted))
    -- What came last is known; it is in use when it comes again.
    for n = 109002, 110000 do same(fdb.SAME, (t:learn(key(n), 9))) end
    assert.equal(fdb.FULL, (t:learn(key(9999), 1)))
    assert.equal(1, tonumber(t.fdb.full))
    -- And there is room when its time is over.
    t:set_now(301)
    assert.equal(fdb.LEARNED, (t:learn(key(9999), 1)))
  end)

  it("has another timeout for what it knows, too", function ()
    local t = new{timeout = 10}
    t:learn(key(1), 3)
    t:fix(key(2), 4)
    t:set_timeout(20)
    t:set_now(20)
    assert.equal(3, (t:port(key(1))))
    t:set_timeout(5)
    assert.is_nil((t:port(key(1))))
    assert.equal(1, t:expire(5))
    t:set_now(2 ^ 40)
    assert.equal(4, (t:port(key(2))))
  end)

  it("tells its memory, and refuses what can't be", function ()
    local t = new{limit = 50000}
    local used, most = t:memory()
    assert.equal(fdb.bytes(50000), most)
    assert.is_true(used < most / 10 and most < 50000 * 90)
    for _, case in ipairs{{{timeout = -1}, "timeout is a number from 0 on, not %-1"},
        {{limit = 0}, "from 1 to %d+, not 0"}} do
      local ok, problem = pcall(new, case[1])
      assert.is_false(ok)
      assert.matches(case[2], tostring(problem))
    end
  end)
end)

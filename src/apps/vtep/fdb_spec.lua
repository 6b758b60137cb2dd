-- SPDX-License-Identifier: Apache-2.0

local fdb = require("apps.vtep.fdb")

-- What the table says of a key: the remote, or nil.
local function at(t, a, b)
  local slot = t:find(a, b)
  if slot >= 0 then return t.slot[slot].remote end
end

-- A key by number; different for each number below 2^31.
local function key(n)
  return bit.tobit(n * 7919), bit.bor(bit.lshift(n % 5 + 1, 16), n % 0x10000)
end

describe("apps.vtep.fdb", function ()
  it("finds what was put in, and nothing else", function ()
    local t = fdb.new(10)
    assert.is_nil(at(t, 1, 0x10002))
    assert.equal("new", t:insert(1, 0x10002, 3, 0))
    assert.equal("new", t:insert(1, 0x20002, 4, 0)) -- another VNI
    assert.equal(3, at(t, 1, 0x10002))
    assert.equal(4, at(t, 1, 0x20002))
    assert.is_nil(at(t, 2, 0x10002))
    assert.is_nil(at(t, 0, 0x10000))
    assert.equal(2, t.count)
  end)

  it("tells whether an address has moved", function ()
    local t = fdb.new(10)
    t:insert(1, 0x10002, 3, 0)
    assert.equal("known", (t:insert(1, 0x10002, 3, 5)))
    assert.same({"moved", 3}, {t:insert(1, 0x10002, 9, 5)})
    assert.equal(9, at(t, 1, 0x10002))
    assert.equal(1, t.count)
  end)

  it("agrees with a table of Lua's through insertions and removals #slow", function ()
    local t, model, present = fdb.new(3000), {}, 0
    math.randomseed(7)
    for _ = 1, 60000 do
      local n = math.random(1, 6000)
      local a, b = key(n)
      if math.random() < 0.4 then
        assert.equal(model[n], t:remove(a, b))
        if model[n] then present = present - 1 end
        model[n] = nil
      else
        local remote = math.random(1, 100)
        local done = t:insert(a, b, remote, 0)
        if model[n] then
          assert.equal(model[n] == remote and "known" or "moved", done)
          model[n] = remote
        elseif present < 3000 then
          assert.equal("new", done)
          model[n], present = remote, present + 1
        else
          assert.is_nil(done)
        end
      end
      local probe = math.random(1, 6000)
      if model[probe] ~= at(t, key(probe)) then
        assert.equal(model[probe], at(t, key(probe)), "key " .. probe)
      end
    end
    assert.equal(present, t.count)
  end)

  it("takes as many as it was made for, whatever the seed #slow", function ()
    for seed = 1, 20 do
      local t = fdb.new(2048, seed)
      for n = 1, 2048 do assert.equal("new", (t:insert(n, 0x10000, 1, 0))) end
      assert.is_nil(t:insert(9999, 0x10000, 1, 0))
      assert.equal("known", (t:insert(2048, 0x10000, 1, 0)))
      for n = 1, 2048 do assert.equal(1, at(t, n, 0x10000)) end
    end
  end)

  it("forgets what hasn't been seen for long", function ()
    local t, gone = fdb.new(100), {}
    for n = 1, 100 do t:insert(n, 0x10000, n, n) end
    local function note(remote) gone[#gone + 1] = remote end
    t:sweep(t:slots(), 41, note)
    table.sort(gone)
    assert.equal(40, #gone)
    assert.equal(40, gone[40])
    assert.is_nil(at(t, 40, 0x10000))
    assert.equal(41, at(t, 41, 0x10000))
    assert.equal(60, t.count)
    -- in parts
    for _ = 1, t:slots() / 8 do t:sweep(8, 1000) end
    assert.equal(0, t.count)
  end)

  it("keeps static entries", function ()
    local t = fdb.new(10)
    t:insert(1, 0x10000, 2, 0, true)
    assert.same({"static", 2}, {t:insert(1, 0x10000, 3, 9)})
    t:sweep(t:slots(), 1000)
    assert.equal(2 + fdb.STATIC, at(t, 1, 0x10000))
    assert.same({"moved", 2}, {t:insert(1, 0x10000, 5, 9, true)})
  end)
end)

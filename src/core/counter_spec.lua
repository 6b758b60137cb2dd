-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local unistd = require("posix.unistd")
local wait = require("posix.sys.wait").wait
local counter = require("core.counter")
local shm = require("core.shm")
local shm_root = require("testing.shm_root")

describe("core.counter", function()
  before_each(shm_root.make)
  after_each(shm_root.remove)

  -- What another process would see in the counter's file.
  local function published(name)
    local f = assert(io.open(shm.path(name), "rb"))
    local bytes = f:read(8)
    f:close()
    assert.equal(8, #bytes)
    return tonumber(ffi.cast("const uint64_t *", bytes)[0])
  end

  it("counts in private and publishes on commit", function()
    local a = counter.create("c/a")
    local b = counter.create("c/b", 43)
    assert.equal(0, published("c/a"))
    assert.equal(43, published("c/b"))
    counter.add(a)
    counter.add(a, 41)
    counter.set(b, 7)
    assert.equal(42ULL, counter.read(a))
    assert.equal(0, published("c/a"))
    counter.commit()
    assert.equal(42, published("c/a"))
    assert.equal(7, published("c/b"))
    counter.delete("c/a")
    counter.delete("c/b")
  end)

  it("is 64 bits wide and wraps", function()
    local a = counter.create("wide", -1ULL)
    assert.equal("18,446,744,073,709,551,615", tostring(a))
    counter.add(a, 2)
    assert.equal(1ULL, counter.read(a))
    counter.set(a, 2^53 + 2)
    counter.add(a)
    assert.equal(9007199254740995ULL, counter.read(a))
    counter.delete("wide")
  end)

  it("gives one counter for one name", function()
    local a = counter.create("same")
    counter.add(a)
    local b = counter.create("same", 9)
    counter.add(b)
    assert.equal(2ULL, counter.read(a))
    counter.add(counter.open("same"))
    assert.equal(3ULL, counter.read(a))
    counter.delete("same")
    assert.is_false(shm.exists("same"))
    assert.equal(0ULL, counter.read(counter.create("same")))
    counter.delete("same")
  end)

  it("has one C type for all that are created", function()
    local a, b = counter.create("a"), counter.create("d/b", 2)
    assert.equal(ffi.typeof(a), ffi.typeof(b))
    assert.equal(8, ffi.sizeof(a))
    counter.delete("a")
    counter.delete("d/b")
  end)

  it("keeps publishing the others after a delete", function()
    local counters = {}
    for i = 1, 5 do counters[i] = counter.create("n/" .. i) end
    counter.delete("n/2")
    counter.delete("n/5")
    for i = 1, 5 do counter.set(counters[i], i) end
    counter.commit()
    for _, i in ipairs {1, 3, 4} do
      assert.equal(i, published("n/" .. i))
      counter.delete("n/" .. i)
    end
    assert.same({}, shm.children("n"))
  end)

  it("refuses to delete what isn't open", function()
    assert.has_error(function() counter.delete("none") end,
      "no counter 'none' is open")
  end)

  it("reads a counter of another process until the last delete", function()
    shm.create("/1/other", "struct counter").c = 5
    local a, b = counter.open("/1/other"), counter.open("/1/other")
    counter.delete("/1/other")
    assert.equal(5ULL, counter.read(b))
    assert.equal(5ULL, counter.read(a))
    counter.delete("/1/other")
    assert.has_error(function() counter.delete("/1/other") end)
    assert.is_true(shm.exists("/1/other"))
  end)

  it("works as a frame's type", function()
    local frame = shm.create_frame("apps/x", {drops = {counter}, start = {counter, 9}})
    counter.add(frame.drops, 3)
    counter.commit()
    local reader = shm.open_frame("apps/x")
    assert.equal(9ULL, counter.read(reader.start))
    shm.delete_frame(frame)
    assert.same({}, shm.children("apps"))
  end)

  it("in a forked child is the child's, and the parent's stays", function()
    local a = counter.create("forked", 5)
    local pid = unistd.fork()
    if pid == 0 then
      local ok, result = pcall(function()
        counter.add(a, 100)
        counter.commit()
        local own = counter.create("forked")
        counter.add(own, 7)
        counter.commit()
        return published("forked") == 7
      end)
      unistd._exit(ok and result and 0 or 1)
    end
    local _, _, status = wait(pid)
    assert.equal(0, status)
    assert.equal(5, published("forked"))
    counter.delete("forked")
  end)
end)

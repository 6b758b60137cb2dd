-- SPDX-License-Identifier: Apache-2.0
local C = require("core.native")
local F = require("core.declare")("net/flow/flow.h")
local ffi = require("ffi")
local flow = require("net.flow.flow")
local keep = require("net.keep.keep")
local kept = require("testing.kept")
local outside = require("core.outside.visitors")
local packet = require("core.packet")
local stat = require("posix.sys.stat")
local stderr = require("testing.stderr")
local tables = require("net.keep.tables")
local unistd = require("posix.unistd")

local N, SOME = 150000, 4096

local function fills()
  local f
  repeat f = F.pg_flow_fills() until f.asked == f.large + f.late + f.failed
  return f
end

local function table_of()
  local t = flow.new{key = "uint64_t", value = "struct { uint64_t word[7]; }",
    limit = 2 * N}
  keep.records(tables.item{of = "large", layout = "large 1", flows = t,
    now = function () return 0 end})
  return t
end

describe("A large table that is kept", function ()
  before_each(kept.set_up)
  after_each(kept.tear_down)

  it("lies in large pages where the kernel makes some, and loses nothing", function ()
    packet.free(packet.allocate()) -- DPDK is started: so the thread can be
    local before, key, t = fills(), ffi.new("uint64_t[1]"), table_of()
    for k = 1, N do
      key[0] = k
      t.record[t:add(key)].value.word[6] = 3 * k
      if k % SOME == 0 then fills() end
    end
    local after = fills()
    assert.truthy(after.asked > before.asked)
    assert.truthy(after.large > before.large or after.error ~= 0)
    for _ = 1, 2 do
      for k = 1, N, 7 do
        key[0] = k
        assert.equal(3 * k, tonumber(t.record[t:find(key)].value.word[6]))
      end
      kept.again()
      t = table_of()
    end
  end)
end)

-- As if shared memory were full: a folder is in the place of the new file.
local function full(of)
  local path = keep.folder("spec") .. "/." .. keep.file_of(of)
  assert(stat.mkdir(path, 448))
  return function () assert(unistd.rmdir(path)) end
end

describe("State for which there is no room", function ()
  before_each(kept.set_up)
  after_each(kept.tear_down)

  local key = ffi.new("uint64_t[1]")
  local function small()
    local t = flow.new{key = "uint64_t", value = "uint64_t", limit = 100}
    keep.records(tables.item{of = "late", layout = "late 1", flows = t,
      now = function () return 0 end})
    return t
  end
  local function add(t, k)
    key[0] = k
    t:add(key)
  end
  local function has(t, k)
    key[0] = k
    return t:find(key) ~= 0
  end
  local function wait_for(text)
    local ends = C.pg_monotonic() + 20
    repeat
      outside.tend(0)
      C.pg_sleep(0.01)
      assert(C.pg_monotonic() < ends, stderr.told())
    until stderr.told():find(text, 1, true)
  end

  it("is kept as soon as there is some", function ()
    add(small(), 1)
    kept.again()
    local empty = full("late")
    local t = small()
    assert.truthy(stderr.told():find("the state of late isn't kept: ", 1, true))
    assert.truthy(has(t, 1)) -- it goes on all the same
    add(t, 2)
    empty()
    wait_for("the state of late is kept from now on")
    add(t, 3)
    kept.again()
    t = small()
    assert.same({true, true, true}, {has(t, 1), has(t, 2), has(t, 3)})
    assert.falsy(stderr.told():find("not used", 1, true)) -- nothing is there twice
  end)

  it("stays in the former file until then", function ()
    add(small(), 1)
    kept.again()
    local empty = full("late")
    add(small(), 2)
    empty()
    kept.again()
    local t = small()
    assert.same({true, false}, {has(t, 1), has(t, 2)})
  end)

  it("isn't used again by what takes the item's place", function ()
    local t = small()
    add(t, 1)
    kept.again()
    local empty = full("late")
    t = small()
    key[0] = 1
    t:remove(t:find(key))
    t = small() -- as a hot swap, which takes over what there is
    assert.falsy(has(t, 1))
    empty()
    t = small()
    assert.falsy(has(t, 1))
    kept.again()
    assert.falsy(has(small(), 1))
  end)
end)

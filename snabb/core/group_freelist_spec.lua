-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local unistd = require("posix.unistd")
local wait = require("posix.sys.wait").wait
local group_freelist = require("core.group_freelist")
local shm = require("core.shm")

local NAME = "spec/a.group_freelist"
local start_add, start_remove = group_freelist.start_add, group_freelist.start_remove
local finish = group_freelist.finish

-- take(list), again while there is nothing, for 10 s or longer.
local function insist(take, list)
  for _ = 1, 100000 do
    local chunk, number = take(list)
    if chunk then return chunk, number end
    ffi.C.usleep(100)
  end
  error("nothing came")
end

local function in_child(func)
  local pid = unistd.fork()
  if pid == 0 then unistd._exit(pcall(func) and 0 or 1) end
  return pid
end

-- Add a chunk for each of `first` to `last`, with the number as its only packet.
local function add_numbers(list, first, last)
  for i = first, last do
    local chunk, number = insist(start_add, list)
    chunk.list[0], chunk.nfree = ffi.cast("struct packet *", i), 1
    finish(chunk, number)
  end
end

local function remove_number(list)
  local chunk, number = insist(start_remove, list)
  assert(chunk.nfree == 1)
  local value = tonumber(ffi.cast("uintptr_t", chunk.list[0]))
  chunk.nfree = 0
  finish(chunk, number)
  return value
end

describe("core.group_freelist", function ()
  after_each(function () shm.unlink("spec") end)

  it("gives chunks in order, once they are finished", function ()
    local list = group_freelist.freelist_create(NAME, 2)
    assert.is_nil(start_remove(list))
    local a, a_number = start_add(list)
    local b, b_number = start_add(list)
    assert.is_nil(start_add(list))
    finish(b, b_number)
    assert.is_nil(start_remove(list))
    finish(a, a_number)
    assert.equal("4096/4096", tostring(list))
    local first, number = start_remove(list)
    assert.equal(a, first)
    assert.is_nil(start_add(list))
    finish(first, number)
    assert.equal(a, (start_add(list)))
    assert.equal(b, (start_remove(list)))
    shm.unmap(list)
  end)

  it("keeps the list there is, and its size", function ()
    local list = group_freelist.freelist_create(NAME, 4)
    add_numbers(list, 7, 9)
    local again = group_freelist.freelist_create(NAME, 2)
    local seen = group_freelist.freelist_open(NAME, "read-only")
    assert.same({4, 4, "6144/8192"}, {again.size, seen.size, tostring(seen)})
    assert.equal(7, remove_number(again))
    assert.equal("4096/8192", tostring(seen))
    for _, object in ipairs{list, again, seen} do shm.unmap(object) end
  end)

  it("refuses sizes that are no power of two", function ()
    for _, size in ipairs{0, 3, 1000} do
      assert.has_error(function () group_freelist.freelist_create(NAME, size) end)
    end
    assert.is_false(shm.exists(NAME))
  end)

  it("hands each chunk to one process of several", function ()
    local list = group_freelist.freelist_create(NAME, 4)
    local results = group_freelist.freelist_create("spec/b.group_freelist", 4)
    local pids = {}
    for i = 0, 1 do
      pids[#pids + 1] = in_child(function ()
        add_numbers(list, i * 500 + 1, i * 500 + 500)
      end)
      pids[#pids + 1] = in_child(function ()
        for _ = 1, 500 do
          local value = remove_number(list)
          add_numbers(results, value, value)
        end
      end)
    end
    local times = {}
    for i = 1, 1000 do times[i] = 0 end
    for _ = 1, 1000 do
      local value = remove_number(results)
      times[value] = times[value] + 1
    end
    for _, pid in ipairs(pids) do
      local _, _, status = wait(pid)
      assert.equal(0, status)
    end
    for i = 1, 1000 do assert.equal(1, times[i]) end
    shm.unmap(list)
    shm.unmap(results)
  end)
end)

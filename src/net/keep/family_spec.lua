-- SPDX-License-Identifier: Apache-2.0
local family = require("net.keep.family")
local keep = require("net.keep.keep")
local tree = require("core.shm.tree")

local folder

before_each(function ()
  folder = os.tmpname()
  os.remove(folder)
  assert(require("posix.sys.stat").mkdir(folder, 448))
end)

after_each(function () tree.remove(folder) end)

local function write(of, text)
  local file = assert(io.open(folder .. "/" .. keep.file_of(of), "w"))
  file:write(text or of)
  file:close()
end

-- What the files of other copies hold, sorted.
local function others(item)
  local found = {}
  for _, path in ipairs(family.others(folder, item, keep.file_of)) do
    local file = assert(io.open(path))
    found[#found + 1] = file:read("*a")
    file:close()
  end
  table.sort(found)
  return found
end

describe("Copies' files", function ()
  it("are called after the copy, and after how many if none moves", function ()
    assert.equal("nat", family.member("nat", 1, 1))
    assert.equal("nat", family.member("nat", 1, 1, true))
    assert.equal("nat on CPU 2 of 3", family.member("nat", 2, 3))
    assert.equal("nat on CPU 2", family.member("nat", 2, 3, true))
  end)

  it("are others' where there were more or fewer copies", function ()
    for _, of in ipairs{"nat", "nat on CPU 1 of 2", "nat on CPU 2 of 2",
        "nat on CPU 1 of 3", "other", "nat on CPU x", "nat2 on CPU 1 of 3"} do
      write(of)
    end
    assert.same({"nat", "nat on CPU 1 of 3"}, others{family = "nat", copies = 2})
  end)

  it("are nobody's own where records move", function ()
    for _, of in ipairs{"nat on CPU 1", "nat on CPU 2", "nat on CPU 1 of 2"} do
      write(of)
    end
    family.hand_over(folder)
    local item = {family = "nat", copies = 2, moves = true}
    assert.same({"nat on CPU 1", "nat on CPU 1 of 2", "nat on CPU 2"}, others(item))
    -- One copy has begun, and was killed; then come two that move nothing.
    write("nat on CPU 1", "begun")
    assert.same({"nat on CPU 1", "nat on CPU 1 of 2", "nat on CPU 2"}, others(item))
    family.hand_over(folder)
    assert.same({"begun", "nat on CPU 1", "nat on CPU 2"},
      others{family = "nat", copies = 2})
  end)

  it("go when none needs them any more", function ()
    local function item(i)
      return {of = "nat on CPU " .. i, family = "nat", copies = 2, moves = true}
    end
    write("nat on CPU 1", "of a former process")
    family.hand_over(folder)
    write("nat on CPU 2")
    family.finish(folder, item(2), keep.file_of)
    write("nat on CPU 1")
    assert.same({"of a former process"}, others(item(2)))
    family.finish(folder, item(1), keep.file_of)
    assert.same({}, others(item(2)))
    assert.equal(2, #tree.names(folder))
  end)
end)

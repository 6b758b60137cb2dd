-- SPDX-License-Identifier: Apache-2.0
-- Objects written as literal bytes, and by core's own modules.

local counter = require("core.counter")
local fake_tree = require("testing.fake_tree")
local histogram = require("core.histogram")
local objects = require("lib.observe.objects")
local shm = require("core.shm")
local stat = require("posix.sys.stat")

describe("observe.objects", function ()
  local tree
  before_each(function () tree = fake_tree.new() end)
  after_each(function () tree.remove() end)

  local function read(name, bytes)
    tree.write(name, bytes)
    local value, kind = objects.read(tree.base .. "/" .. name)
    return value ~= nil and objects.text(value, kind) or nil, kind
  end

  it("reads bytes by their type", function ()
    assert.equal("1,234", read("a.counter", "\210\4\0\0\0\0\0\0"))
    assert.equal("min: 0.000000 / avg: 0.000000 / max: 0.000000",
      read("a.histogram", ("\0"):rep(4096)))
  end)

  it("reads what core makes", function ()
    local c = counter.create("spec/observe.counter")
    counter.set(c, 2 ^ 40 + 5)
    counter.commit()
    local h = histogram.create("spec/observe2.histogram", 1e-6, 1)
    h:add(0.01)
    local all = objects.all(shm.path("spec"))
    assert.equal(2 ^ 40 + 5, tonumber(all.observe.value))
    assert.equal(1, tonumber(all.observe2.value.total))
    local least, _, greatest = all.observe2.value:summarize()
    assert.is_true(least <= 0.01 and greatest >= 0.01)
    counter.delete("spec/observe.counter")
    shm.unmap(h)
    shm.unlink("spec")
  end)

  it("doesn't wait for a pipe that takes a file's place", function ()
    local path, seen = tree.base .. "/pipe.counter", stat.lstat
    assert.equal(0, stat.mkfifo(path, 384))
    finally(function () stat.lstat = seen end)
    local file = seen("/proc/self/status")
    stat.lstat = function () return file end
    assert.is_nil(objects.line(path))
    assert.is_nil((objects.read(path)))
  end)

  it("has nothing for what is short, gone or strange", function ()
    assert.is_nil(read("short.counter", "1234567"))
    assert.is_nil(read("short.histogram", ("\0"):rep(4095)))
    assert.is_nil((objects.read(tree.base .. "/gone.counter")))
    local value, kind = objects.read(tree.base .. "/x.rrd")
    assert.is_nil(value)
    assert.equal("rrd", kind)
  end)

  it("goes into directories, and follows no links", function ()
    tree.write("d/a.counter", ("\0"):rep(8))
    tree.write("d/e/b.counter", ("\0"):rep(8))
    tree.link(tree.base, "d/loop")
    tree.link(tree.base .. "/d/a.counter", "d/c.counter")
    local names = {}
    objects.each(tree.base .. "/d", function (name) names[#names + 1] = name end)
    assert.same({"a.counter", "e/b.counter"}, names)
  end)
end)

-- SPDX-License-Identifier: Apache-2.0

local gauge = require("lib.gauge")
local shm = require("core.shm")

describe("lib.gauge", function()
  local root_before = shm.root
  before_each(function()
    shm.root = require("posix.stdlib").mkdtemp("/tmp/gauge_spec.XXXXXX")
  end)
  after_each(function()
    require("core.shm_tree").remove(shm.root)
    shm.root = root_before
  end)

  it("is written by one and read by another", function()
    local a, b = gauge.create("a", 1.42), gauge.create("b")
    local reader = gauge.open("a")
    assert.equal(1.42, gauge.read(reader))
    assert.equal(0, gauge.read(b))
    gauge.set(a, -0.125)
    assert.equal(-0.125, gauge.read(reader))
    assert.equal("-0.125000", tostring(reader))
    for _, object in ipairs {a, b, reader} do shm.unmap(object) end
  end)

  it("is a frame's type", function()
    local frame = shm.create_frame("x", {speed = {gauge, 10}})
    local reader = shm.open_frame("x")
    gauge.set(frame.speed, 11)
    assert.equal(11, gauge.read(reader.speed))
    shm.delete_frame(reader)
    shm.delete_frame(frame)
  end)
end)

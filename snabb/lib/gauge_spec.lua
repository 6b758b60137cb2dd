-- SPDX-License-Identifier: Apache-2.0

local gauge = require("lib.gauge")
local shm = require("core.shm")
local shm_root = require("testing.shm_root")

describe("lib.gauge", function()
  before_each(shm_root.make)
  after_each(shm_root.remove)

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

-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
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

  it("reads as a number whatever others have written", function()
    local a = gauge.create("a", 1)
    local reader = gauge.open("a")
    for _, bits in ipairs{0xfff9ULL, 0xfffcULL, 0xffffULL, 0x7fffULL} do
      ffi.cast("uint64_t *", a)[0] = bits * 2ULL^48 + 0x1234
      local value = gauge.read(reader)
      assert.equal("number", type(value))
      assert.is_true(value ~= value)
      assert.matches("nan", tostring(reader))
    end
    for _, object in ipairs {a, reader} do shm.unmap(object) end
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

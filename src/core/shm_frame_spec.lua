-- SPDX-License-Identifier: Apache-2.0
-- Frames: directories of shared objects as tables, and the types they can have.

local shm = require("core.shm")
local shm_root = require("testing.shm_root")

describe("Shared memory", function()
  before_each(shm_root.make)
  after_each(shm_root.remove)

  describe("frames", function()
    local gauge, number

    before_each(function()
      number = {
        create = function(name, a, b)
          local object = shm.create(name, "int[2]")
          object[0], object[1] = a or 0, b or 0
          return object
        end,
        open = function(name) return shm.open(name, "int[2]", "readonly") end,
      }
      number.type = shm.register("number", number)
      gauge = {create = number.create, open = number.open, deleted = {}}
      gauge.delete = function(name) gauge.deleted[#gauge.deleted + 1] = name end
      gauge.type = shm.register("level", gauge)
    end)

    it("hold one object a name", function()
      local frame = shm.create_frame("apps/x", {
        packets = {number, 1, 2}, holes = {number, nil, 4}, level = {gauge},
      })
      assert.equal(2, frame.packets[1])
      assert.equal(4, frame.holes[1])
      assert.same({"holes.number", "level.level", "packets.number"},
        shm.children("apps/x"))
      shm.unmap(shm.create("apps/x/other.unknown", "int[1]"))

      local reader = shm.open_frame("apps/x")
      frame.packets[0] = 77
      assert.equal(77, reader.packets[0])
      assert.is_nil(reader.other)
      shm.delete_frame(reader)
      assert.equal(4, #shm.children("apps/x"))

      shm.delete_frame(frame)
      assert.is_falsy(shm.exists("apps/x"))
      assert.same({"apps/x/level.level", "apps/x/level.level"}, gauge.deleted)
    end)

    it("refuse names of their own fields", function()
      assert.has_error(function()
        shm.create_frame("x", {path = {number}})
      end, "a frame's object can't be called 'path'")
    end)

    it("leave out an object that vanishes while they are opened", function()
      shm.create_frame("x", {a = {number}, b = {number}})
      local open = number.open
      number.open = function(name)
        shm.unlink(name)
        return open(name)
      end
      assert.same({}, shm.open_frame("x").specs)
    end)

    it("have types with one owner each", function()
      assert.equal(number, shm.types.number)
      local other = loadstring("local shm = ... shm.register('number', {})", "@other")
      assert.has_error(function() other(shm) end)
      assert.equal(number, shm.types.number)
    end)

    it("have views, of modules that are loaded for them", function()
      number.view = {bytes = 8}
      assert.equal(number.view, shm.view("number"))
      assert.is_nil(shm.view("level"))
      assert.is_nil(shm.view("nothing"))
      local loaded = 0
      package.preload["spec.shm_type"] = function()
        loaded = loaded + 1
        return shm.register("provided", {view = {bytes = 1}})
      end
      shm.provide("provided", "spec.shm_type")
      assert.equal(0, loaded)
      assert.equal(1, shm.view("provided").bytes)
      assert.equal(1, shm.view("provided").bytes)
      assert.equal(1, loaded)
    end)
  end)
end)

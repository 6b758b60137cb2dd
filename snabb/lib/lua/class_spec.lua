-- SPDX-License-Identifier: Apache-2.0

local class = require("lib.lua.class")

describe("class", function()
  local Base, Derived

  before_each(function()
    Base = class.subClass(nil)
    Base._name = "base"
    function Base:new(value)
      local object = Base:superClass().new(self)
      object.value = value
      return object
    end
    function Base:double() return 2 * self.value end -- luacheck: ignore 432
    Derived = class.subClass(Base)
    function Derived:double() return Derived:superClass().double(self) + 1 end
  end)

  it("is the global function subClass", function()
    assert.equal(class.subClass, rawget(_G, "subClass"))
  end)

  it("inherits, overrides and calls what it overrides", function()
    assert.equal(6, Base:new(3):double())
    assert.equal(7, Derived:new(3):double())
    assert.equal(Base, Derived:superClass())
    assert.equal(Derived, Derived:new(1):class())
    assert.equal("base", Derived:new(1):name())
    assert.is_nil(rawget(Derived:new(1), "double"))
  end)

  it("gives a freed object again, marked", function()
    local a = Base:new(1)
    assert.is_false(a._recycled)
    a:free()
    local b = Base:new(2)
    assert.equal(a, b)
    assert.is_true(b._recycled)
    assert.equal(2, b.value)
    assert.are_not.equal(b, Base:new(3))
  end)

  it("keeps a free list for each class", function()
    local derived = Derived:new(1)
    derived:free()
    assert.are_not.equal(derived, Base:new(1))
    assert.equal(derived, Derived:new(1))
  end)

  it("renews an object in place", function()
    local a = Base:new(1)
    local b = a:new(5)
    assert.equal(a, b)
    assert.equal(5, a.value)
    assert.is_true(a._recycled)
  end)

  it("recycles any number of objects, each to one user", function()
    local objects = {}
    for i = 1, 100 do objects[i] = Base:new(i) end
    for i = 1, 100 do objects[i]:free() end
    local seen = {}
    for i = 1, 100 do
      local object = Base:new(i)
      assert.is_nil(seen[object])
      assert.is_true(object._recycled)
      seen[object] = true
    end
    assert.is_false(Base:new(0)._recycled)
  end)

  it("has no objects of the elementary class", function()
    local elementary = Base:superClass()
    assert.has_error(function() elementary:new() end,
      "the elementary class has no objects")
  end)
end)

-- SPDX-License-Identifier: Apache-2.0

local Binding = require("apps.lwaftr.binding")
local C = require("core.declare")("apps/lwaftr/lwaftr.h")
local Softwires = require("apps.lwaftr.softwires")
local ffi = require("ffi")

local ADDRESS = 0xc0000201

-- A table of one softwire, whose B4's address ends in `last`.
local function softwires(last)
  local s = ffi.new("struct softwire", {ipv4 = ADDRESS, psid_length = 0})
  s.ends.b4[0], s.ends.b4[15], s.ends.br[15] = 0x20, last, 1
  local result = Softwires.new()
  result:add(s)
  return result
end

local function managed(path) return C.pg_lwaftr_is_managed(path, ADDRESS) end

describe("apps.lwaftr.binding", function ()
  it("is found by its number, and gone with its last user", function ()
    local binding = Binding.new(softwires(1))
    local id, path = binding.id, ffi.new("struct lwaftr_path")
    Binding.numbered(id):join(path)
    binding = nil -- luacheck: ignore
    collectgarbage()
    collectgarbage()
    assert.is_true(managed(path))
    Binding.numbered(id):part(path)
    collectgarbage()
    collectgarbage()
    assert.error_matches(function () Binding.numbered(id) end,
      "there is no binding table number")
  end)

  it("changes in place, and for all who look into it", function ()
    local binding = Binding.new(softwires(1))
    local path = ffi.new("struct lwaftr_path")
    Binding.numbered(binding.id):join(path)
    assert.is_true(binding:remove(ADDRESS, 0))
    assert.is_false(managed(path))
    binding:part(path)
  end)

  it("swaps tables again and again while somebody looks into them", function ()
    local binding = Binding.new(softwires(1))
    local path = ffi.new("struct lwaftr_path")
    Binding.numbered(binding.id):join(path)
    for last = 2, 50 do
      local before = binding.softwires
      binding:swap(softwires(last))
      assert.is_true(managed(path))
      assert.equal(last, binding:find(ADDRESS, 80).b4[15])
      assert.has_error(function () before:count() end)
    end
    binding:swap(Softwires.new())
    assert.is_false(managed(path))
    binding:part(path)
  end)

  it("refuses softwires that another binding has", function ()
    local mine, other = softwires(1), softwires(2)
    local binding = Binding.new(mine)
    Binding.new(other)
    assert.error_matches(function () binding:swap(other) end, "are a binding's already")
    assert.equal(binding, Binding.new(mine))
  end)
end)

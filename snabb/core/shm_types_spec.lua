-- SPDX-License-Identifier: Apache-2.0
-- Snabb's types of objects in shared memory, as those who look at its processes read
-- them: literal bytes.

local fake_tree = require("testing.fake_tree")
local objects = require("lib.observe.objects")

describe("types of Snabb's in shared memory", function ()
  local tree
  before_each(function () tree = fake_tree.new() end)
  after_each(function () tree.remove() end)

  local function read(name, bytes)
    tree.write(name, bytes)
    local value, kind = objects.read(tree.base .. "/" .. name)
    return value ~= nil and objects.text(value, kind) or nil, kind
  end

  it("are known", function ()
    assert.equal("1.500000", read("a.gauge", "\0\0\0\0\0\0\248\63"))
    assert.equal("3/1000", read("a.freelist", "\3\0\0\0\232\3\0\0" .. ("x"):rep(99)))
    assert.equal("4096/2097152", read("a.group_freelist", "\5" .. ("\0"):rep(63)
      .. "\3" .. ("\0"):rep(63) .. "\0\4\0\0" .. ("\0"):rep(4)))
    assert.equal("2/8 (in active use)",
      read("a.interlink", "\7\0\0\0\1\0\0\0\8\0\0\0\5\0\0\0"))
    assert.equal("1/8 (waiting for transmitter)",
      read("b.interlink", "\1\0\0\0\2\0\0\0\8\0\0\0\3\0\0\0"))
  end)

  it("have nothing for what is short", function ()
    for kind, least in pairs{gauge = 8, freelist = 8, group_freelist = 136,
                             interlink = 16} do
      assert.is_nil((read("short." .. kind, ("\0"):rep(least - 1))))
      assert.is_string((read("long." .. kind, ("\0"):rep(least))))
    end
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
-- Snabb's types of objects in shared memory, as those who look at its processes read
-- them: literal bytes.

local shm = require("core.shm")

describe("types of Snabb's in shared memory", function ()
  local function read(kind, bytes)
    local view = shm.view(kind)
    assert.is_true(#bytes >= view.bytes)
    local value = view.read(bytes)
    return view.text and view.text(value) or value
  end

  it("are known", function ()
    assert.equal("1.500000", read("gauge", "\0\0\0\0\0\0\248\63"))
    assert.equal("3/1000", read("freelist", "\3\0\0\0\232\3\0\0" .. ("x"):rep(99)))
    assert.equal("4096/2097152", read("group_freelist", "\5" .. ("\0"):rep(63)
      .. "\3" .. ("\0"):rep(63) .. "\0\4\0\0" .. ("\0"):rep(4)))
    assert.equal("2/8 (in active use)",
      read("interlink", "\7\0\0\0\1\0\0\0\8\0\0\0\5\0\0\0"))
    assert.equal("1/8 (waiting for transmitter)",
      read("interlink", "\1\0\0\0\2\0\0\0\8\0\0\0\3\0\0\0"))
  end)

  it("are read when they are as short as can be", function ()
    for kind, least in pairs{gauge = 8, freelist = 8, group_freelist = 136,
                             interlink = 16} do
      assert.equal(least, tonumber(shm.view(kind).bytes))
      assert.is_string(read(kind, ("\0"):rep(least)))
    end
  end)
end)

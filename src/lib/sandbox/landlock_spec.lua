-- SPDX-License-Identifier: Apache-2.0

local landlock = require("lib.sandbox.landlock")
local unistd = require("posix.unistd")

describe("Landlock", function ()
  it("knows the rights that a version has", function ()
    assert.equal(0x1fff, landlock.known(1)) -- <linux/landlock.h>
    assert.equal(0x3fff, landlock.known(2))
    assert.equal(0x7fff, landlock.known(3))
    assert.equal(0x7fff, landlock.known(9))
  end)

  it("says what old versions can't refuse", function ()
    assert.equal(1, #landlock.lacks(1))
    assert.equal(1, #landlock.lacks(2))
    assert.same({}, landlock.lacks(3))
  end)

  it("grants no right to run programs, to make devices or links", function ()
    for name, rights in pairs(landlock.RIGHTS) do
      for _, bit in ipairs{0, 6, 10, 11, 12} do
        assert.is_true(math.floor(rights / 2 ^ bit) % 2 == 0, name .. " " .. bit)
      end
    end
  end)

  it("makes rules for files and folders, and passes over what isn't there", function ()
    local version, why = landlock.version()
    if not version then return pending(why) end
    for known = 1, version do
      local list = {{"/usr", rights = landlock.RIGHTS.all},
        {"/dev/null", rights = landlock.RIGHTS.all},
        {"/no/such/path", rights = landlock.RIGHTS.read}}
      local fd, problem = landlock.rules(known, list)
      assert.is_nil(problem)
      unistd.close(fd)
    end
  end)
end)

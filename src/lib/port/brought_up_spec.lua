-- SPDX-License-Identifier: Apache-2.0
-- Notes of interfaces that were brought up, as another process finds them.

local dirent = require("posix.dirent")
local brought_up = require("lib.port.brought_up")
local run_folder = require("core.run_folder")
local stdlib = require("posix.stdlib")

describe("brought_up", function ()
  local folder, base
  local function names()
    local list = {}
    for name in dirent.files(folder .. "/perigee-brought-up") do
      if name:sub(1, 1) ~= "." then list[#list + 1] = name end
    end
    table.sort(list)
    return list
  end

  before_each(function ()
    folder, base = stdlib.mkdtemp("/tmp/perigee.XXXXXX"), run_folder.base
    run_folder.base = function () return folder end
  end)
  after_each(function ()
    run_folder.base = base
    os.execute("rm -r " .. folder)
  end)

  -- A note whose process has ended, as nobody has locked it.
  local function leave(name)
    io.open(folder .. "/perigee-brought-up/" .. name, "w"):close()
  end

  it("has a note of an interface until it is forgotten", function ()
    assert.is_false(brought_up.is_left("lo"))
    brought_up.note("lo")
    assert.equal(1, #names())
    assert.is_false(brought_up.is_left("lo")) -- it is this process's
    brought_up.forget("lo")
    assert.same({}, names())
    brought_up.forget("lo")
  end)

  it("finds the note of a process that was killed, and takes it over", function ()
    brought_up.note("lo")
    local name = names()[1]
    brought_up.forget("lo")
    leave(name)
    assert.is_true(brought_up.is_left("lo"))
    brought_up.note("lo")
    brought_up.forget("lo")
    assert.is_false(brought_up.is_left("lo"))
  end)

  it("keeps a bounded number of notes that nobody looks for", function ()
    brought_up.note("lo")
    local here = names()[1]:match("^%d+")
    leave(here .. "-4000000-gone0") -- there is no such interface
    for i = 1, 100 do leave(("%d-7-eth0"):format(i)) end -- of other namespaces
    brought_up.forget("lo")
    brought_up.note("lo")
    local now = names()
    assert.equal(64, #now)
    for _, name in ipairs(now) do assert.is_nil(name:find("gone0", 1, true)) end
    brought_up.forget("lo")
  end)
end)

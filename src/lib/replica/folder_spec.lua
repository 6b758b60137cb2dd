-- SPDX-License-Identifier: Apache-2.0

local folder = require("lib.replica.folder")
local shm_root = require("testing.shm_root")
local tree = require("core.shm.tree")

local NAME = "spec"

describe("lib.replica.folder", function ()
  before_each(function ()
    shm_root.make()
    folder.make(NAME)
  end)
  after_each(function () shm_root.remove() end)

  -- No other file can be made there, as where shared memory is full.
  local function fill(file) tree.make_directory(folder.of(NAME) .. "/" .. file) end

  it("changes a role where there is no room for another file", function ()
    folder.set_role(NAME, "backup")
    fill("role.new")
    for _, role in ipairs{"master", "fault", "backup"} do
      folder.set_role(NAME, role)
      assert.equal(role, folder.role(NAME))
    end
  end)

  it("says that there is no room for a role, or for what is shown", function ()
    fill("role.new")
    assert.has_error(function () folder.set_role(NAME, "master") end)
    assert.is_nil(folder.role(NAME))
    fill("status.new")
    assert.truthy(folder.tell(NAME, {}):find("status.new", 1, true))
  end)
end)

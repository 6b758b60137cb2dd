-- SPDX-License-Identifier: Apache-2.0
local ps = require("program.ps.ps")

local engine = require("core.app")
local shm = require("core.shm")
local shm_root = require("testing.shm_root")

describe("ps, with --snabb", function ()
  setup(shm_root.make)
  teardown(shm_root.remove)

  it("prints what Snabb's does", function ()
    local dir = require("posix.stdlib").mkdtemp("/tmp/ps_spec.XXXXXX")
    assert(io.open(dir .. "/config-leader-socket", "w")):close()
    assert.equal("12\t[name] *\n13\n  \\- 14   worker for 12\n", ps.snabb_text{
      {pid = 12, name = "name", directory = dir},
      {pid = 13, directory = "/nowhere"},
      {pid = 14, leader = 12, directory = "/nowhere"},
    })
    require("core.shm.tree").remove(dir)
  end)

  it("knows a worker's manager, and names", function ()
    local own = require("posix.unistd").getpid()
    shm.alias("/14/group", "/12/group")
    shm.mkdir("12/group")
    assert.equal(12, ps.get_manager_pid(14))
    assert.is_true(ps.is_worker(14))
    assert.is_false(ps.is_worker(12))
    assert.is_nil(ps.get_manager_pid(13))
    engine.claim_name("ps-spec-" .. own)
    assert.equal("ps-spec-" .. own, ps.appname_resolver()(own))
    assert.is_nil(ps.appname_resolver()(14))
    engine.unclaim_name()
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
local ps = require("program.ps.ps")

describe("ps, with --snabb", function ()
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
end)

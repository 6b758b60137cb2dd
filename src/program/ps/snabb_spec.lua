-- SPDX-License-Identifier: Apache-2.0
local ps = require("program.ps.ps")

local calls = require("lib.leader.calls")
local client = require("lib.leader.client")
local engine = require("core.app")
local shm = require("core.shm")
local sockets = require("lib.sockets")
local shm_root = require("testing.shm_root")

describe("ps, with --snabb", function ()
  setup(shm_root.make)
  teardown(shm_root.remove)

  it("prints what Snabb's does", function ()
    local dir = require("posix.stdlib").mkdtemp("/tmp/ps_spec.XXXXXX")
    -- One that answers, one that doesn't listen any more, one that has no such socket.
    local answers = dir .. "/answers/" .. calls.SOCKET
    for _, name in ipairs{"answers", "ended"} do
      assert.equal(0, (require("posix.sys.stat").mkdir(dir .. "/" .. name)))
    end
    local listening = assert(sockets.listen_unix(answers))
    assert(io.open(dir .. "/ended/" .. calls.SOCKET, "w")):close()
    local of = client.of
    client.of = function (instance) -- its answer is there already
      local connection = of(instance)
      local fd = require("posix.sys.socket").accept(listening)
      sockets.write_all(fd, calls.frame(calls.write("describe",
        {["native-schema"] = "snabb-softwire-v3"})))
      return connection
    end
    local ok, text = pcall(ps.snabb_text, {
      {pid = 12, name = "name", directory = dir .. "/answers"},
      {pid = 13, program = "x", directory = dir .. "/ended"},
      {pid = 14, leader = 12, directory = "/nowhere"},
    })
    client.of = of
    require("posix.unistd").close(listening)
    require("core.shm.tree").remove(dir)
    assert.is_true(ok, text)
    assert.equal(
      "12\t[name] * [schema: snabb-softwire-v3]\n13\n  \\- 14   worker for 12\n", text)
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

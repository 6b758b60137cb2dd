-- SPDX-License-Identifier: Apache-2.0
local overwritten = require("testing.overwritten")
local testing = require("testing.support")

describe("Compiled code", function ()
  for way in pairs(overwritten.ways) do
    it("does nothing again that comes before " .. way, function ()
      assert.equal(0, overwritten.wrong(way))
    end)
  end

  it("doesn't in workers, either", function ()
    local said, status = testing.script([[
      local workers = require("core.cpus.workers")
      local cpu = tonumber((...))
      local c = config.new()
      config.app(c, "sink", require("apps.basic.basic_apps").Sink)
      config.cpu(c, "sink", cpu)
      engine.configure(c)
      for _, way in ipairs{"ffi.copy", "ffi.fill"} do
        print(workers.call(cpu, "testing.overwritten", "wrong", way))
      end]], {"--eal", "--no-huge"},
      {tostring(require("core.cpus.affinity").cpus()[1])})
    assert.equal("0\n0\n", said)
    assert.equal(0, status)
  end)
end)

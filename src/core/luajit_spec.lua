-- SPDX-License-Identifier: Apache-2.0
local overwritten = require("testing.overwritten")
local testing = require("testing.support")

local luajit = require("core.luajit")
local util = require("jit.util")

describe("Loops over tables", function ()
  it("are compiled where LuaJIT compiles them rightly", function ()
    local native = not luajit.miscompiles_next()
    for _, f in ipairs{next, pairs} do
      assert.equal(native, util.funcinfo(f).ffid ~= nil)
    end
    assert.equal(native, pcall(require, "table.isempty")
      or not jit.version:find("beta3", 1, true))
  end)

  it("take what they are given, and name what is wrong", function ()
    local seen = {}
    for key, value in pairs{a = 1, 2, [3.5] = 3} do seen[value] = key end
    assert.same({"a", 1, 3.5}, seen)
    assert.equal("a", next{a = 1})
    assert.is_nil(next{})
    assert.error_matches(function () pairs(nil) end, "bad argument #1 to 'pairs'")
    assert.error_matches(function () next({}, "key") end, "invalid key to 'next'")
  end)
end)

describe("LuaJIT's machine code", function ()
  it("isn't used on arm64 where it has wrong pairs of stores", function ()
    local DATES = {["0-beta3"] = true, ["1693526400"] = true, ["1703358377"] = false,
                   ["1737090214"] = false}
    for date, wrong in pairs(DATES) do
      local version = "2.1." .. date
      assert.equal(wrong, luajit.miscompiles_all("LuaJIT " .. version, "arm64"))
      assert.is_false(luajit.miscompiles_all("LuaJIT " .. version, "x64"))
    end
  end)
end)

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

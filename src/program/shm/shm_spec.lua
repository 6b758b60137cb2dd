-- SPDX-License-Identifier: Apache-2.0

local fake_tree = require("testing.fake_tree")
local program = require("program.shm.shm")
local testing = require("testing.support")

describe("perigee shm", function ()
  local tree
  before_each(function () tree = fake_tree.new() end)
  after_each(function () tree.remove() end)

  local function fill()
    tree.write("d/breaths.counter", "\0\1\0\0\0\0\0\0")
    tree.write("d/dtime.counter", "\0\225\5\94\0\0\0\0")
    tree.write("d/sub/load.gauge", "\0\0\0\0\0\0\224\63")
    tree.write("d/x.rrd", "RRD")
    tree.write("d/short.counter", "1")
  end

  it("prints a line for each object", function ()
    fill()
    local said, status = testing.perigee{"shm", tree.base .. "/d"}
    assert.equal(0, status)
    assert.equal("breaths: 256\ndtime: " .. os.date("%c", 1577443584)
      .. "\nsub/load: 0.500000\nx: (a rrd)\n",
      (said:gsub("short[^\n]*\n", "")))
  end)

  it("prints seconds since the start as they are", function ()
    assert.equal("12", program.value_text("links/x/dtime", 12ULL, "counter"))
  end)

  it("prints JSON", function ()
    fill()
    local said = testing.perigee{"shm", "--json", tree.base .. "/d"}
    assert.same({breaths = 256, dtime = 1577443584, ["sub/load"] = 0.5},
      require("cjson").decode(said))
    assert.equal("{}\n", (testing.perigee{"shm", "--json", tree.base .. "/proc/net"}))
  end)

  it("says what isn't there", function ()
    for _, case in ipairs{
      {"nosuch", "there is no running instance 'nosuch'"},
      {"/nosuch/dir", "there is no directory /nosuch/dir"},
    } do
      local said, status = testing.perigee{"shm", case[1]}
      assert.matches(case[2], said, 1, true)
      assert.equal(2, status)
    end
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
local engine = require("core.app")
local files = require("core.lib.files")
local standby = require("core.outside.standby")
local testing = require("testing.support")
local until_turn = require("lib.saved.until_turn")

describe("Files that a standby has read", function ()
  local path, calls
  before_each(function ()
    path, calls = testing.temporary("a"), 0
    standby.begin(function () end)
    until_turn.watch({path}, function () calls = calls + 1 end)
  end)
  after_each(function () testing.remove(path) end)

  -- The number of calls once the process has taken over; change(when), optional, is
  -- called at "wait", before the turn, and at "ports", when those are opened.
  local function taken_over(change)
    change("wait")
    standby.pass()
    change("ports")
    engine.main{no_report = true, done = function () return true end}
    return calls
  end

  it("are left alone as long as they are the same", function ()
    assert.equal(0, taken_over(function () files.writefile(path, "a") end))
  end)

  for _, at in ipairs{"wait", "ports"} do
    it(("are read again if they change (%s)"):format(at), function ()
      assert.equal(1, taken_over(function (now)
        if now == at then files.writefile(path, "b") end
      end))
    end)
  end
end)

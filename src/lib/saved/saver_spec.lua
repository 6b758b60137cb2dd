-- SPDX-License-Identifier: Apache-2.0

local files = require("core.lib.files")
local saver = require("lib.saved.saver")
local testing = require("testing.support")

local function text_of(path) return files.readfile(path, "*a") end

describe("a saver", function ()
  local path
  before_each(function () path = os.tmpname() end)
  after_each(function () testing.remove(path) end)

  it("writes from the beginning when what runs changes", function ()
    local runs, problems = "a", {}
    local s = saver.new(path, function (put)
      for _ = 1, 3 do put(runs) end
    end, {done = function (problem) problems[#problems + 1] = problem or "fine" end})
    s:changed()
    s:work(0) -- a step
    runs = "b"
    s:changed()
    s:work(0)
    assert.equal("", text_of(path))
    local waits = 0
    assert.is_nil(s:await(function ()
      waits = waits + 1
      s:work(0)
    end))
    assert.equal("bbb", text_of(path))
    assert.same({"fine"}, problems)
    assert.equal(3, waits)
    s.path = "/dev/full"
    s:changed()
    assert.equal("can't write /dev/full: No space left on device",
      s:await(function () s:work(math.huge) end))
  end)
end)

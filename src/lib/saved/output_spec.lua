-- SPDX-License-Identifier: Apache-2.0

local files = require("core.lib.files")
local output = require("lib.saved.output")
local saver = require("lib.saved.saver")
local stat = require("posix.sys.stat")

local function text_of(path) return files.readfile(path, "*a") end

describe("a file that is saved", function ()
  local path
  before_each(function () path = os.tmpname() end)
  after_each(function ()
    os.remove(path)
    os.remove(path .. ".new")
  end)

  it("has the old text until all is written, and keeps its mode", function ()
    files.writefile(path, "old")
    stat.chmod(path, 416) -- rw-r-----
    local o = output.open(path)
    o:put("ne")
    assert.equal("old", text_of(path))
    o:put("w")
    o:finish()
    assert.equal("new", text_of(path))
    assert.equal(416, stat.stat(path).st_mode % 4096)
    assert.is_false(files.can_open(path .. ".new"))
  end)

  it("stays as it was when it is abandoned", function ()
    files.writefile(path, "old")
    local o = output.open(path)
    o:put("new")
    o:abandon()
    assert.equal("old", text_of(path))
    assert.is_false(files.can_open(path .. ".new"))
  end)

  it("is private where that is asked for", function ()
    os.remove(path)
    local o = output.open(path, true)
    o:finish()
    assert.equal(384, stat.stat(path).st_mode % 4096)
  end)

  it("is written from the beginning when what runs changes", function ()
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

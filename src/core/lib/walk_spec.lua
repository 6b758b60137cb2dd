-- SPDX-License-Identifier: Apache-2.0

local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")
local walk = require("core.lib.walk")

describe("walk.files", function ()
  local top

  local function folder(name) stat.mkdir(top .. "/" .. name) end
  local function file(name) assert(io.open(top .. "/" .. name, "w")):close() end
  local function link(to, name) unistd.link(to, top .. "/" .. name, true) end

  local function names(enters)
    local list = {}
    walk.files(top, function (path, name)
      assert.equal(top .. "/" .. name, path)
      list[#list + 1] = name
    end, enters)
    return list
  end

  before_each(function ()
    top = os.tmpname()
    os.remove(top)
    stat.mkdir(top)
    for _, name in ipairs{"b", "b/c", "z"} do folder(name) end
    for _, name in ipairs{"b/c/deep", "b/near", "top", ".hidden"} do file(name) end
  end)

  after_each(function () os.execute("rm -r " .. top) end)

  it("visits what is nearest first, in the order of names", function ()
    assert.same({".hidden", "top", "b/near", "b/c/deep"}, names())
  end)

  it("follows links, but looks at each folder once", function ()
    link("..", "b/c/up")
    link("../..", "b/c/root")
    link(top, "b/again")
    link("b/c", "a")
    link("top", "other")
    assert.same({".hidden", "other", "top", "a/deep", "b/near"}, names())
  end)

  it("visits links that lead nowhere, or to themselves", function ()
    link("gone", "z/nowhere")
    link("self", "z/self")
    assert.same({".hidden", "top", "b/near", "z/nowhere", "z/self", "b/c/deep"},
      names())
  end)

  it("leaves out folders that aren't wanted", function ()
    local asked = {}
    assert.same({".hidden", "top", "b/near"}, names(function (name, depth)
      asked[#asked + 1] = name .. depth
      return name ~= "c"
    end))
    assert.same({"b1", "z1", "c2"}, asked)
  end)

  it("finds nothing where there is no folder", function ()
    top = top .. "/none"
    assert.same({}, names())
    top = top:sub(1, -6)
  end)
end)

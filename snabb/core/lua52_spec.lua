-- SPDX-License-Identifier: Apache-2.0
local lua52 = require("core.lua52")

describe("core.lua52", function ()
  local function becomes(before, after)
    assert.equal(after, lua52.lengths(before))
  end

  it("puts a call in the place of the length operator", function ()
    becomes("return #x", "return __len(x)")
    becomes("for i = 1, #self.input do", "for i = 1, __len(self.input) do")
    becomes("a[#a+1] = b", "a[__len(a)+1] = b")
    becomes("#f(x, #y)[1].z:m('s') .. 'x'", "__len(f(x, __len(y))[1].z:m('s')) .. 'x'")
    becomes("# (a or {}) == 0", "__len( (a or {})) == 0")
    becomes("#'abc' + #{1, 2}", "__len('abc') + __len({1, 2})")
    becomes("#a.b..'c'", "__len(a.b)..'c'")
    becomes("x < #t and #t\n> 3", "x < __len(t) and __len(t)\n> 3")
    becomes("f{#x}", "f{__len(x)}")
  end)

  it("leaves strings and comments, and the lines, as they are", function ()
    for _, text in ipairs{
      "'#x'", '"a\\"#x"', "[[#x]]", "[==[ #x ]] ]==]", "-- #x", "--[[ #x\n#y ]] z",
      "#!/usr/bin/env snabb\nreturn 1",
    } do becomes(text, text) end
    becomes("-- it's\nreturn #x -- #y", "-- it's\nreturn __len(x) -- #y")
    becomes("return #a -- b\n.c", "return __len(a -- b\n.c)")
  end)

  it("means the same in all of Perigee's own code #slow", function ()
    local pipe = io.popen("find src -name '*.lua'")
    local files = 0
    for path in pipe:lines() do
      local file = assert(io.open(path))
      local text = file:read("*a")
      file:close()
      local changed = lua52.lengths(text)
      assert(loadstring(changed, path))
      assert.equal(select(2, text:gsub("\n", "")), select(2, changed:gsub("\n", "")))
      files = files + 1
    end
    pipe:close()
    assert.is_true(files > 100)
  end)

  it("asks the metatable for the length, and for iterators", function ()
    local code = lua52.lengths("local t = ... ; return #t, #'ab', #{1, 2, 3}")
    local env = setmetatable({__len = lua52.len}, {__index = _G})
    local t = setmetatable({1}, {__len = function () return 42 end})
    assert.same({42, 2, 3}, {setfenv(assert(loadstring(code)), env)(t)})
  end)
end)

-- SPDX-License-Identifier: Apache-2.0

local getopt = require("core.lib.getopt")

local SHORT = "ho:v"
local LONG = {
  help = "h", aid = "help", output = "o", verbose = "v", quiet = 0, level = 1,
}

local function ordered(...)
  return getopt.get_ordered_opts({...}, SHORT, LONG)
end

local function message(...)
  local ok, err = pcall(getopt.get_ordered_opts, {...}, SHORT, LONG)
  assert.is_false(ok)
  return tostring(err)
end

describe("get_ordered_opts", function()
  it("reads short options, joined and with values either way", function()
    local names, first, values = ordered("-vh", "-ofile", "-vo", "other", "rest")
    assert.same({"v", "h", "o", "v", "o"}, names)
    assert.equal(5, first)
    assert.same({[3] = "file", [5] = "other"}, values)
  end)

  it("reads long options, and gives the name they stand for", function()
    local names, first, values =
      ordered("--help", "--output=a=b", "--level", "3", "--quiet", "--aid")
    assert.same({"h", "o", "level", "quiet", "h"}, names)
    assert.equal(7, first)
    assert.same({[2] = "a=b", [3] = "3"}, values)
  end)

  it("stops at the first argument, at - and after --", function()
    for _, case in ipairs {
      {2, "-v", "file", "-h"}, {2, "-v", "-", "-h"}, {3, "-v", "--", "-h"}, {2, "-v"},
    } do
      local names, first = ordered(unpack(case, 2))
      assert.same({"v"}, names)
      assert.equal(case[1], first)
    end
  end)

  it("takes an empty value after =", function()
    local _, _, values = ordered("--output=")
    assert.same({""}, values)
  end)

  it("says what is wrong", function()
    assert.equal("unknown option '-x'", message("-vx"))
    assert.equal("unknown option '--nope'", message("--nope=1"))
    assert.equal("option '-o' needs a value", message("-vo"))
    assert.equal("option '--output' needs a value", message("--output"))
    assert.equal("option '--quiet' takes no value, but got '1'", message("--quiet=1"))
  end)
end)

describe("get_opts", function()
  it("is a table; flags are 1 and the last value wins", function()
    local options, first = getopt.get_opts({"-v", "-oa", "-ob", "x"}, SHORT, LONG)
    assert.same({v = 1, o = "b"}, options)
    assert.equal(4, first)
  end)
end)

-- SPDX-License-Identifier: Apache-2.0

local jit_causes = require("core.watch.causes")

local function abort(file, line, reason, app, count)
  return {kind = "abort", file = file, line = line, reason = reason, app = app,
          count = count or 1}
end

local function given_up(file, line, cause, app)
  return {kind = "blacklisted", file = file, line = line, reason = cause.reason,
          app = app, count = 1, cause = cause}
end

describe("jit_causes", function ()
  it("follows what was given up to the line to blame", function ()
    local nyi = abort("a.lua", 7, "NYI: bytecode FNEW", "x", 29)
    local first = given_up("a.lua", 5, nyi, "x")
    local caller = abort("a.lua", 5, "blacklisted", "y", 4)
    local loop = given_up("region of x", 9, caller)
    local causes = jit_causes.of{nyi, first, caller, loop}
    assert.equal(1, #causes)
    local cause = causes[1]
    assert.same({"a.lua", 7, "NYI: bytecode FNEW", 29},
      {cause.file, cause.line, cause.reason, cause.count})
    assert.same({"x", "y"}, cause.apps)
    assert.same({"a.lua:5", "region of x:9"}, cause.given_up)
  end)

  it("finds the abort of a blacklisting that isn't in the list", function ()
    local nyi = abort("a.lua", 7, "NYI: bytecode FNEW", "x", 3)
    local causes = jit_causes.of{given_up("a.lua", 5, nyi, "x")}
    assert.equal(7, causes[1].line)
    assert.equal(3, causes[1].count)
  end)

  it("follows a way out that failed too often to what failed there", function ()
    local nyi = abort("a.lua", 7, "NYI: bytecode FNEW", "x", 4)
    local left = {kind = "interpreter", file = "b.lua", line = 86, reason = "r",
                  app = "x", count = 1, cause = nyi}
    local unknown = {kind = "interpreter", file = "c.lua", line = 1, reason = "r",
                     app = "x", count = 1}
    local causes = jit_causes.of{left, unknown}
    assert.equal(2, #causes)
    assert.same({"a.lua", 7, "NYI: bytecode FNEW", 4},
      {causes[1].file, causes[1].line, causes[1].reason, causes[1].count})
    assert.same({"c.lua", 1}, {causes[2].file, causes[2].line})
  end)

  it("keeps different lines and reasons apart", function ()
    local causes = jit_causes.of{
      abort("a.lua", 1, "r", "x"), abort("a.lua", 1, "s", "x"),
      abort("b.lua", 1, "r", "x"), abort("a.lua", 1, "r", "y", 2)}
    assert.equal(3, #causes)
    assert.same({"x", "y"}, causes[1].apps)
    assert.equal(3, causes[1].count)
  end)

  it("ends where code given up leads back to itself", function ()
    local a = abort("a.lua", 1, "blacklisted", "x")
    local causes = jit_causes.of{a, given_up("a.lua", 1, a, "x")}
    assert.equal(1, #causes)
    assert.same({}, jit_causes.of{})
  end)
end)

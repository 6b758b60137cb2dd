-- SPDX-License-Identifier: Apache-2.0

local failure = require("core.lib.failure")
local testing = require("testing.support")

local function caught(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  return err
end

describe("a failure", function ()
  it("is its sentence and an exit status", function ()
    local usage = caught(failure.usage, "no port '%s' of %d", "x", 3)
    assert.equal("no port 'x' of 3", tostring(usage))
    assert.equal(2, usage.status)
    assert.is_true(failure.is(usage))
    local runtime = caught(failure.raise, "the disk is full")
    assert.equal("the disk is full", tostring(runtime))
    assert.equal(1, runtime.status)
  end)

  it("keeps a sentence without arguments as it is, per cents too", function ()
    assert.equal("100% of %d", tostring(caught(failure.raise, "100% of %d")))
  end)

  it("isn't any other value", function ()
    for _, value in ipairs{"text", 1, {}, true, setmetatable({}, {})} do
      assert.is_false(failure.is(value))
    end
    assert.is_false(failure.is(nil))
  end)

  it("keeps its status within another; a bug gets status 1", function ()
    local inner = caught(failure.usage, "bad")
    local outer = caught(failure.within, "app 'a'", inner)
    assert.equal("app 'a': bad", tostring(outer))
    assert.equal(2, outer.status)
    assert.equal(1, caught(failure.within, "app 'a'", "text").status)
  end)

  it("remembers the table that was raised, and its sentence", function ()
    local own = {code = 7}
    local _, bug = xpcall(error, failure.explain, own)
    assert.equal(own, failure.as_raised(failure.in_app("a", "new", bug)))
    local _, again = xpcall(error, failure.explain, own)
    assert.matches("^app 'a': in new%(%): an error that is no text: table",
      tostring(again))
    _, again = xpcall(error, failure.explain, own)
    assert.matches("^an error that is no text: table", tostring(again))
    assert.equal("text", failure.as_raised("text"))
  end)

  it("explains a bug with a traceback, and a failure not", function ()
    local _, bug = xpcall(function () error("oops") end, failure.explain)
    assert.is_true(bug.bug)
    assert.matches("oops\nstack traceback:", tostring(bug))
    local _, plain = xpcall(failure.usage, failure.explain, "bad")
    assert.equal("bad", tostring(plain))
    assert.is_nil(plain.bug)
    for _, value in ipairs{{}, 42, false} do
      local _, other = xpcall(error, failure.explain, value)
      assert.is_true(failure.is(other))
    end
  end)

  it("names the app, whatever was raised", function ()
    local kind = setmetatable({}, {__tostring = function () return "of a kind" end})
    local evil = setmetatable({}, {__tostring = function () error("evil") end})
    for _, case in ipairs{{"text", "text"}, {kind, "of a kind"},
        {evil, "an error that is no text: a table"},
        {nil, "an error that is no text: nil"},
        {{}, "an error that is no text: table: 0x%x+"}} do
      local said = failure.in_app("nat", "push", case[1])
      assert.matches("^app 'nat': in push%(%): " .. case[2] .. "$", said)
      local _, explained = xpcall(error, failure.explain, case[1])
      assert.matches("^" .. case[2] .. "\nstack traceback", tostring(explained))
    end
    local inner = caught(failure.usage, "bad")
    assert.equal("app 'nat': in pull(): bad", tostring(failure.in_app("nat", "pull",
      inner)))
  end)

  it("ends a program with its status and one line", function ()
    local said, status = testing.script("require('core.failure').usage('no %s', 1)")
    assert.equal("perigee: no 1\n", said)
    assert.equal(2, status)
    said, status = testing.script("require('core.failure').raise('gone')")
    assert.equal("perigee: gone\n", said)
    assert.equal(1, status)
    said, status = testing.script("error('a bug')")
    assert.matches("a bug\nstack traceback", said)
    assert.equal(1, status)
  end)
end)

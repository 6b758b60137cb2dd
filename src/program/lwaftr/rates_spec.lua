-- SPDX-License-Identifier: Apache-2.0
local rates = require("program.lwaftr.rates")
local stderr = require("testing.stderr")
local testing = require("testing.support")

describe("lwaftr: rates", function ()
  local begun
  after_each(function ()
    pcall(begun.finish, begun)
    stderr.leave()
  end)

  -- Rates of no link, on a disk that becomes full after the heading.
  local function full(goes_on)
    local path = testing.temporary("")
    local r = rates.start(function () return {} end, path, false, goes_on)
    r.file:close()
    r.file = assert(io.open("/dev/full", "w"))
    r.time, begun = r.time - 1, r
    return r, path
  end

  it("on a full disk end a program that is there for them", function ()
    local r, path = full(false)
    local ok, why = pcall(r.line, r)
    assert.is_false(ok)
    assert.equal(("can't write %s: No space left on device"):format(path),
      tostring(why))
    testing.remove(path)
  end)

  it("on a full disk don't end one that passes packets, but make it fail", function ()
    local r, path = full(true)
    local problem = ("can't write %s: No space left on device"):format(path)
    stderr.keep()
    for _ = 1, 3 do
      r:line()
      r.time = r.time - 1
    end
    local said = stderr.told()
    local _, times = said:gsub(problem, "")
    assert.equal(1, times, said)
    assert.truthy(said:find("packets pass without it", 1, true))
    local ok, why = pcall(r.finish, r)
    assert.same({false, problem}, {ok, tostring(why)})
    testing.remove(path)
  end)
end)

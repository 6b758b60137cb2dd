-- SPDX-License-Identifier: Apache-2.0

local errors = require("core.engine.errors")
local shm = require("core.shm")

local function lines(name) return errors.lines(name, tostring) end

describe("errors that apps have raised", function ()
  after_each(function () errors.keep({}) end)

  it("are to be told once for each app and cause, and counted", function ()
    local function note(place, text)
      local sentence = "app 'nat': in push(): %s%s\nstack traceback:\n..."
      return errors.note("nat", sentence:format(place, text))
    end
    assert.is_true(note("nat.lua:7: ", "no room for 17 flows"))
    assert.is_false(note("nat.lua:7: ", "no room for 18 flows"))
    assert.is_true(note("nat.lua:8: ", "no room for 18 flows"))
    assert.is_true(note("", "table: 0x1234 is gone"))
    assert.is_false(note("", "table: 0x98ab is gone"))
    assert.is_true(errors.note("other", "app 'other': in push(): nat.lua:7: no room"))
    errors.count_restart("nat")
    assert.same({"2 errors: in push(): nat.lua:7: no room for 17 flows",
      "1 error: in push(): nat.lua:8: no room for 18 flows",
      "2 errors: in push(): table: 0x1234 is gone", "started again: 1 time"},
      lines("nat"))
    assert.equal(5, errors.of("nat").raised)
    assert.is_nil(errors.of("none"))
    assert.same({}, lines("none"))
  end)

  it("are one cause wherever the stack ends", function ()
    local sentence = "app 'nat': in push(): %sstack overflow\nstack traceback:\n..."
    assert.is_true(errors.note("nat", sentence:format("")))
    assert.is_false(errors.note("nat", sentence:format("nat.lua:7: ")))
    assert.is_false(errors.note("nat", sentence:format("nat.lua:8: ")))
    assert.same({"3 errors: in push(): stack overflow"}, lines("nat"))
  end)

  it("of very many causes count together", function ()
    for i = 1, 1000 do errors.note("a", ("app 'a': %s"):format(("x"):rep(i))) end
    local list = lines("a")
    assert.equal(21, #list)
    assert.equal("980 errors: other errors", list[21])
  end)

  it("are in shared memory as long as the app runs", function ()
    errors.note("a", "app 'a': no")
    local function files()
      local list = shm.children("apps/a")
      table.sort(list)
      return list
    end
    errors.publish()
    local all = {"errors_bypassed.counter", "errors_raised.counter",
                 "errors_restarts.counter"}
    assert.same(all, files())
    errors.withdraw("a")
    assert.same({}, files())
    errors.publish()
    errors.keep{a = {}}
    assert.same(all, files())
    errors.keep{}
    assert.same({}, shm.children("apps/a"))
    assert.is_nil(errors.of("a"))
  end)
end)

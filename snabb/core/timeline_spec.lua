-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local timeline = require("core.timeline")

local EVENTS = [[
0,6|six:
without arguments

0,4|four: a b
of two arguments

3,3|three: a b c d e f
]]

describe("core.timeline", function ()
  local was
  before_each(function ()
    was = timeline.enabled
    timeline.enabled = true
  end)
  after_each(function ()
    require("core.shm").unlink("spec.timeline")
    timeline.enabled = was
  end)

  local function texts(tl, entry)
    return ffi.string(tl.stringtable + 16 * entry.msgid)
  end

  it("logs events with their arguments and times", function ()
    local tl = timeline.new("spec.timeline", 10, 1000)
    local e = timeline.load_events_from_string(tl, EVENTS, "spec", {app = "x"})
    e.six()
    e.four(1.5, 2)
    e.three(1, 2, 3, 4, 5, 6)
    assert.equal(3, tl.next_entry)
    assert.equal("0,6|spec.six app=x:\nwithout arguments", texts(tl, tl.entries[0]))
    assert.equal("0,4|spec.four app=x: a b\nof two arguments", texts(tl, tl.entries[1]))
    assert.same({1.5, 2, 0}, {tl.entries[1].arg[0], tl.entries[1].arg[1],
      tl.entries[1].arg[2]})
    assert.equal(6, tl.entries[2].arg[5])
    assert.is_true(tl.entries[0].tsc > 0 and tl.entries[1].tsc >= tl.entries[0].tsc)
  end)

  it("leaves out events below its rate", function ()
    local tl = timeline.new("spec.timeline", 10, 1000)
    local e = timeline.load_events_from_string(tl, EVENTS, "spec")
    timeline.rate(tl, 4)
    e.six() e.four(1, 2) e.three(1, 2, 3, 4, 5, 6)
    assert.equal(2, tl.next_entry)
    assert.equal(4, timeline.rate(tl))
  end)

  it("writes over the oldest events, and never behind its ends", function ()
    local tl = timeline.new("spec.timeline", 4, 64)
    local e = timeline.load_events_from_string(tl, "0,6|six: a", "spec")
    for i = 1, 10 do e.six(i) end
    local values = {}
    for i = 0, 3 do values[i + 1] = tl.entries[i].arg[0] end
    assert.same({9, 10, 7, 8}, values)
    assert.equal(16, tl.next_string)
    assert.equal(1, timeline.intern(tl, "another"))
    assert.equal(0xffff, timeline.intern(tl, ("x"):rep(64)))
  end)

  it("costs no memory where it is off", function ()
    timeline.enabled = false
    assert.is_false(timeline.new("spec.timeline"))
    local e = timeline.load_events_from_string(false, EVENTS, "spec")
    assert.is_nil(e.four(1, 2))
    assert.equal(1 / 0, timeline.rate(false))
  end)

  it("refuses what describes no event", function ()
    assert.has_error(function () timeline.mkevent(nil, "spec", "six: a") end,
      "'six: a' doesn't describe an event: it would begin with LEVEL,RATE|NAME:")
    assert.has_error(function ()
      timeline.mkevent(nil, "spec", "0,1|s: a b c d e f g")
    end, "event 's' has 7 arguments; it may have up to 6")
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local click_router = require("testing.click_router")
local note = require("click.note")
local packet = require("core.packet")

-- Which of packets of these times pass, with two outputs: "1" and "2".
local function passing(config, times, options)
  local unit = click.unit("TimeFilter(" .. config .. ")", options or {outputs = 2})
  local out = ""
  for _, time in ipairs(times) do
    local p = packet.from_string("x")
    note.clear(p)
    note.set_time(p, time)
    out = out .. (unit:send(p)[1] or {0})[1]
  end
  unit:free()
  return out, unit
end

local TIMES = {100, 101, 102.5, 104, 103}

describe("TimeFilter", function ()
  it("passes packets of a range of time", function ()
    for config, out in pairs {
      [""] = "11111", ["101"] = "21111", ["101, 104"] = "21121",
      ["START_AFTER 1"] = "21111", ["END_AFTER 3.5"] = "11121",
      ["INTERVAL 1"] = "12222", ["START_AFTER 2, INTERVAL 1.5"] = "22121",
      ["END 102.5"] = "11222",
    } do
      assert.equal(out, (passing(config, TIMES)), config)
    end
  end)

  it("drops the others without a second output", function ()
    local out, unit = passing("101", TIMES, {outputs = 1})
    assert.equal("01111", out)
    assert.same({["outside the time"] = 1}, unit.lost)
  end)

  it("counts delays from its beginning", function ()
    assert.equal("2121", (passing("START_DELAY 5, END_DELAY 9",
      {1e9, 1e9 + 6, 1e9 + 10, 1e9 + 8})))
  end)

  it("has handlers", function ()
    local r = click_router.make("InfiniteSource(LIMIT 1) -> t :: TimeFilter(10, 20)"
      .. " -> Discard")
    click_router.turn(r, 1)
    assert.equal("10.000000", r:handler_read("t.start"))
    assert.equal("20.000000", r:handler_read("t.end"))
    assert.equal("10.000000", r:handler_read("t.interval"))
    r:handler_write("t.start", "12")
    r:handler_write("t.extend_interval", "0.5")
    assert.equal("8.500000", r:handler_read("t.interval"))
    r:handler_write("t.interval", "3")
    assert.equal("15.000000", r:handler_read("t.end"))
    r:handler_write("t.end", "16")
    assert.equal("16.000000", r:handler_read("t.end"))
    assert.same({false, "expected time"}, {r:handler_write("t.end", "x")})
    r:close()
  end)

  it("stops the router, or calls a handler with the time", function ()
    local r = click_router.run("InfiniteSource -> SetTimestamp(5) -> TimeFilter(END 4,"
      .. " STOP true) -> Discard")
    assert.is_true(r.ended)
    r = click_router.run("InfiniteSource(LIMIT 3) -> SetTimestamp(5.25)"
      .. " -> t :: TimeFilter(END 4, END_CALL s.run $t) -> Catch;"
      .. "s :: Script(TYPE PASSIVE, set x $1, write t.extend_interval 2);"
      .. " Script(wait 1, stop)")
    assert.equal("5.250000", r:handler_read("s.get x"))
    assert.equal(3, #r.caught)
  end)

  it("says which arguments exclude each other", function ()
    for config, text in pairs {
      ["1, START_AFTER 2"] =
        "START, START_AFTER, and START_AFTER_INIT are mutually exclusive",
      ["END 1, INTERVAL 2"] =
        "END, END_AFTER, END_AFTER_INIT, and INTERVAL are mutually exclusive",
      ["END 1, STOP true, END_CALL stop"] = "END_CALL and STOP are mutually exclusive",
    } do
      assert.same({text}, click.unit("TimeFilter(" .. config .. ")").errors)
    end
  end)
end)

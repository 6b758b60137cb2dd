-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")

describe("Pipeliner", function ()
  it("takes its arguments by position, as FastClick's does", function ()
    for _, text in ipairs{"", "64", "0, 32, true", "-1, 16, BLOCKING false",
      "64, 32, false, NOUSELESS true, ACTIVE true, DIRECT_TRAVERSAL false"} do
      local unit = click.unit(("Pipeliner(%s)"):format(text))
      assert.same({}, unit.errors)
      assert.same({{1, "abc"}}, unit:send("abc"))
      unit:free()
    end
    assert.same({"Pipeliner ring size must be at least 4"},
      click.unit("Pipeliner(3)").errors)
  end)
end)

describe("CPUSwitch and ExactCPUSwitch", function ()
  -- The output, from 1, of a packet that another thread has handed over.
  local function output(class, thread, options)
    local unit = click.unit(class, {outputs = 3})
    unit.element.router.options = options
    unit.element:initialize()
    local process = unit.element:make_process()
    local p = packet.from_string("abc")
    p.note8[note.THREAD] = thread and thread + 1 or 0
    local q, o = process(nil, p, 1)
    packet.free(p)
    unit:free()
    return q and o
  end

  it("send a packet to the output of its thread", function ()
    local options = {part = 1, passing = setmetatable({}, {__index = function ()
      return {1, 4, 9} -- of every element
    end})}
    assert.equal(2, output("CPUSwitch", nil, options))
    assert.equal(2, output("CPUSwitch", 4, options))
    assert.equal(2, output("ExactCPUSwitch", 4, options))
  end)

  it("know the copy that they are in", function ()
    assert.equal(3, output("CPUSwitch", nil, {copy = {number = 2}}))
    assert.equal(1, output("ExactCPUSwitch", nil, {copy = {number = 2}}))
    assert.equal(1, output("CPUSwitch", nil, {}))
  end)
end)

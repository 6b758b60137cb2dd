-- SPDX-License-Identifier: Apache-2.0
local program = require("click.script.program")
local text = require("click.language.text")

local function parse(s, driver)
  local problems = {}
  local instructions = program.parse(text.arguments(s), driver,
    function (message) problems[#problems + 1] = message end)
  return instructions, problems
end

local function ops(s, driver)
  local names = {}
  for i, instruction in ipairs((parse(s, driver))) do names[i] = instruction.op end
  return table.concat(names, " ")
end

describe("instructions of scripts", function ()
  it("begin by waiting, or at once, and end", function ()
    assert.equal("initial end", ops(""))
    assert.equal("initial print end", ops("print 1"))
    assert.equal("wait_time print end", ops("wait 1s, print 1"))
    assert.equal("wait_step stop", ops("", true))
    assert.equal("wait_step print stop", ops("pause, print 1", true))
  end)

  it("have several words for waiting", function ()
    assert.equal("wait_step wait_step wait_step wait_step wait_time wait_time end",
      ops("wait, pause 2, wait_step, wait_stop, wait_time 1, wait_for 2"))
    assert.equal(2, parse("pause 2")[1].count)
  end)

  it("say whether quotes go", function ()
    local list = parse("set x 1, setq x 1, print, printq, printn, printnq, read, readq")
    local unquoted = {}
    for i = 2, #list - 1 do unquoted[i - 1] = list[i].unquoted and "q" or "-" end
    assert.equal("-q-q-q-q", table.concat(unquoted))
    assert.same({op = "set", variable = "x", text = "1", unquoted = true}, list[3])
  end)

  it("jump to labels", function ()
    local list, problems = parse(
      "label a, goto a, goto end, goto b $(x), loop, goto begin, label b, goto error")
    assert.same({}, problems)
    local targets = {}
    for _, instruction in ipairs(list) do
      targets[#targets + 1] = instruction.target
    end
    assert.same({2, "end", 8, 1, 1, "error"}, targets)
    assert.equal("$(x)", list[5].text)
    assert.same({"no such label 'nowhere'"}, select(2, parse("goto nowhere")))
  end)

  it("print into files by two more words", function ()
    local list = parse("save c.count FILE, append c.count")
    assert.equal(">FILE c.count", list[2].text)
    assert.equal(">>- c.count", list[3].text)
  end)

  it("are refused one by one", function ()
    for _, line in ipairs {"set", "set x", "label", "label a b", "end now", "stop 1",
        "pause x", "foo", "init", "export", "loop 1"} do
      local word = line:match("^%S+")
      assert.same({("syntax error at '%s'"):format(word)}, select(2, parse(line)), line)
    end
    assert.equal(2, #select(2, parse("foo, print 1, bar")))
  end)
end)

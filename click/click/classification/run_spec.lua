-- SPDX-License-Identifier: Apache-2.0
local filter = require("click.classification.ip.filter")
local kernel = require("click.classification.kernel")
local lua = require("click.classification.lua")
local packet = require("core.packet")
local packed = require("click.classification.packed")
local patterns = require("testing.click_patterns")
local program_of = require("click.classification.bytes")
local run = require("click.classification.run")
local step = require("click.classification.step")

-- The output of a packet whose headers are {start =, bytes =}, asked step by step.
local function interpret(questions, headers, by_header)
  local at = 0
  while true do
    local q = questions[at]
    local number, offset = kernel.place(q.offset, by_header)
    local bytes, yes = headers[number] or "", q.short
    if #bytes >= step.needs(q) - (q.offset - offset) then
      local word = 0
      for i = 1, 4 do word = word * 256 + (bytes:byte(offset + i) or 0) end
      yes = false
      for _, value in ipairs(q.values) do
        yes = yes or step.band(word, q.mask) == value
      end
    end
    at = q[yes and 1 or 0]
    if at <= 0 then return at ~= step.NEVER and 1 - at or nil end
  end
end

local function output_of(process, p)
  local q, o = process(nil, p)
  return q and (o or 1)
end

local function by_c(c)
  return function (_, p)
    local output = c.run(c.program, p)
    return output > 0 and p or nil, output
  end
end

-- Do all three ways to run the program send the packets to one output?
local function agree(program, questions, make, by_header)
  local c = kernel.new(questions, by_header)
  local in_c = by_c(c)
  local in_lua = lua.process(questions, by_header, in_c)
  local chosen, kept = run.process(program, questions, by_header)
  for _ = 1, 40 do
    local p, headers = make()
    local wanted = interpret(questions, headers, by_header)
    if wanted ~= output_of(in_c, p) or wanted ~= output_of(in_lua, p)
        or wanted ~= output_of(chosen, p) then
      return false, ("%s, not %s in C, %s in Lua, %s: %s"):format(wanted,
        output_of(in_c, p), output_of(in_lua, p), output_of(chosen, p),
        lua.source(questions, by_header))
    end
    packet.free(p)
  end
  return true, kept
end

describe("a decision program", function ()
  it("runs alike in Lua, in C and step by step: patterns of bytes #slow", function ()
    local random = patterns.new(1)
    for _ = 1, 200 do
      local list = random:byte_patterns()
      local program, questions = program_of.program(list, random.no_errors)
      if not program.everything then
        assert.is_true(agree(program, questions,
          function () return random:bytes() end, false))
      end
    end
  end)

  it("runs alike in Lua, in C and step by step: IP patterns #slow", function ()
    local random = patterns.new(2)
    for _ = 1, 200 do
      local list = random:ip_patterns()
      local program, questions = filter.program(list, 4, random.no_errors)
      if not program.everything then
        assert.is_true(agree(program, questions,
          function () return random:ip_packet() end, true))
      end
    end
  end)

  it("runs alike if it is long", function ()
    local random = patterns.new(3)
    local list = {}
    for i = 1, 300 do
      list[i] = ("%d src host 10.0.%d.%d"):format(i % 4, random:to(0, 2),
        random:to(0, 255))
    end
    local program, questions = filter.program(list, 4, random.no_errors)
    assert.is_true(questions.n > 64)
    for _ = 1, 5 do
      assert.is_true(agree(program, questions,
        function () return random:ip_packet() end, true))
    end
  end)

  it("reads no byte behind the packet", function ()
    local program, questions = filter.program({"0 ip[12] == 7", "1 all"}, 2, {})
    local process, kept = run.process(program, questions, true)
    local p = packet.from_string(("\7"):rep(20))
    p.note16[1], p.note16[2] = p.data_off, p.data_off + 20
    for length = 20, 0, -1 do
      p.length = length
      assert.equal(length >= 13 and 1 or 2, output_of(process, p))
    end
    p.note16[1] = 0
    assert.equal(2, output_of(process, p))
    packet.free(p)
    assert.is_table(kept)
    assert.is_string(packed.text(program, questions))
  end)
end)

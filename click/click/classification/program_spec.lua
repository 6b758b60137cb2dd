-- SPDX-License-Identifier: Apache-2.0
local bytes = require("click.classification.bytes")
local filter = require("click.classification.ip.filter")
local packed = require("click.classification.packed")
local Program = require("click.classification.program")
local step = require("click.classification.step")
local tree = require("click.classification.tree")

local function text_of(rules, noutputs)
  local program, questions = filter.program(rules, noutputs, {
    error = function (_, ...) error(string.format(...)) end,
    warning = function () end,
  })
  return packed.text(program, questions)
end

local function numbered(patterns)
  local rules = {}
  for i, text in ipairs(patterns) do rules[i] = ("%d %s"):format(i - 1, text) end
  return rules
end

describe("the text of a program", function ()
  it("is Click's: ports are asked after protocol and fragments", function ()
    assert.equal([[
 0 264/00060000%00ff0000  yes->step 2  no->step 1
 1 264/00110000%00ff0000  yes->step 2  no->step 6
 2 260/00000000%00001fff  yes->step 3  no->[5]
 3 512/00001e61%0000ffff  yes->[0]  no->step 4
 4 512/000022b8%0000ffff  yes->[1]  no->step 5
 5 512/00001b58%0000ffff  yes->[2]  no->[5]
 6 264/00010000%00ff0000  yes->step 7  no->[5]
 7 260/00000000%00001fff  yes->step 8  no->[4]
 8 512/08000000%ff000000  yes->[3]  no->[4]
safe length 516
alignment offset 0
]], text_of(numbered{"dst port 7777", "dst port 8888", "dst port 7000",
      "icmp type echo", "icmp", "-"}, 6))
  end)

  it("is Click's: two ports in one step, and flags that must not be set", function ()
    assert.equal([[
 0 264/00010000%00ff0000  yes->[0]  no->step 1
 1 264/00060000%00ff0000  yes->step 3  no->step 2
 2 264/00110000%00ff0000  yes->step 3  no->[3]
 3 260/00000000%00001fff  yes->step 4  no->step 5
 4 512/00000035%0000ffff  yes->[1]  no->step 5
 5 264/00060000%00ff0000  yes->step 6  no->step 8
 6 260/00000000%00001fff  yes->step 7  no->[2]
 7 524/00020000%00120000  yes->step 9  no->[2]
 8 260/00000000%00001fff  yes->step 9  no->[3]
 9 512/00000000%fc00fc00  yes->[3]  no->[2]  short->yes
safe length 526
alignment offset 0
]], text_of(numbered{"proto icmp", "dst port 53",
      "(proto tcp and !(syn and !ack)) or (tcpudp port >= 1024)", "-"}, 4))
  end)

  it("is Click's: an Ethernet address is two steps", function ()
    assert.equal([[
 0   8/00010203%ffffffff  yes->step 1  no->step 2
 1  12/04050000%ffff0000  yes->[0]  no->step 2
 2   0/00001020%0000ffff  yes->step 3  no->[X]
 3   4/30405060%ffffffff  yes->[0]  no->[X]
safe length 14
alignment offset 0
]], text_of({"allow src 0:1:2:3:4:5", "allow dst 10:20:30:40:50:60", "deny all"}, 1))
  end)

  it("has one line if all packets go one way", function ()
    local all = "all->%s\nsafe length 0\nalignment offset 0\n"
    assert.equal(all:format("[0]"), text_of({
      "allow tcp && dst 10.0.0.0/32 && dst port 80", "allow all"}, 1))
    assert.equal(all:format("[X]"), text_of({"allow false"}, 1))
    assert.equal(all:format("[X]"), text_of({}, 1))
    assert.equal(all:format("[0]"), text_of({"allow false", "allow true"}, 1))
  end)

  it("is Click's for patterns of bytes", function ()
    local program = bytes.program({"1/01", "-"}, {})
    assert.equal(" 0   0/00010000%00ff0000  yes->[0]  no->[1]\nsafe length 2\n"
      .. "alignment offset 0\n", program:text())
  end)
end)

-- Trees of tests of 12 bytes, with few values so that they have to do with each other.
local MASKS = {0xffffffff, 0xffff0000, 0x0000ffff, 0xff000000, 0x1, 0x80000000, 0xfc00}

local function random_tree(random, depth)
  local kind = depth > 0 and random(1, 8) or 1
  local function parts()
    local list = {}
    for i = 1, random(2, 3) do list[i] = random_tree(random, depth - 1) end
    return list
  end
  if kind <= 2 then
    local mask = MASKS[random(1, #MASKS)]
    local value = ({0, 0xffffffff, 0x01010101, 0x80018001})[random(1, 4)]
    return tree.test(4 * random(0, 2), step.band(value, mask), mask)
  elseif kind <= 4 then return tree.both(parts())
  elseif kind <= 6 then return tree.either(parts())
  elseif kind == 7 then return tree.negated(random_tree(random, depth - 1)) end
  return tree.choice{random_tree(random, depth - 1), random_tree(random, depth - 1),
                     random_tree(random, depth - 1)}
end

-- Where a packet of whole words goes.
local function run(program, words)
  local jump = program.everything
  local at = 0
  while not jump do
    local s = program.steps[at]
    local yes = step.band(words[s.offset / 4 + 1], s.mask) == s.value
    at = s[yes and 1 or 0]
    if at <= 0 then jump = at end
  end
  return jump
end

local function matches(node, words)
  if node.kind == "test" then
    return step.band(words[node.offset / 4 + 1], node.mask) == node.value
  elseif node.kind == "not" then return not matches(node.part, words)
  elseif node.kind == "choice" then
    return matches(node.parts[matches(node.parts[1], words) and 2 or 3], words)
  end
  for _, part in ipairs(node.parts) do
    if matches(part, words) == (node.kind == "either") then
      return node.kind == "either"
    end
  end
  return node.kind == "both"
end

describe("an optimized program", function ()
  it("sends packets where the trees say #slow", function ()
    math.randomseed(4)
    local random = math.random
    for _ = 1, 300 do
      local nodes, program = {}, Program.new()
      for i = 1, random(1, 4) do
        nodes[i] = random_tree(random, random(0, 3))
        program:otherwise(Program.new(nodes[i], 1 - i, step.FAILURE))
      end
      program:optimize()
      program:set_failure(step.NEVER)
      local wrong
      for _ = 1, 50 do
        local words, wanted = {}, step.NEVER
        for i = 1, 3 do
          words[i] = ({0, 0xffffffff, 0x01010101, 0x80018001, 0x0101ffff})[random(1, 5)]
        end
        for i = #nodes, 1, -1 do
          if matches(nodes[i], words) then wanted = 1 - i end
        end
        if run(program, words) ~= wanted then wrong = words end
      end
      assert.is_nil(wrong, program:text())
    end
  end)

  it("of many rules is made in reasonable time", function ()
    local rules = {}
    for i = 1, 200 do
      rules[i] = ("allow src net 10.%d.0.0/16 and tcp dst port %d"):format(i, 1000 + i)
    end
    assert.is_true(#text_of(rules, 1) > 200 * 40)
  end)
end)

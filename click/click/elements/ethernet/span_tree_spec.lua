-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local registry = require("click.registry")

local GROUP, OWN, OTHER = "\1\128\194\0\0\0", "\2\0\0\0\0\5", "\2\0\0\0\0\1"
local PADDING = ("\0"):rep(8)

-- As Scapy makes them: Dot3(dst="01:80:c2:00:00:00", src=bridge)/LLC(0x42, 0x42, 3)/
-- STP(rootid=0xdead, rootmac=root, pathcost=cost, bridgeid=0xdead, bridgemac=bridge,
-- portid=port, age=age, bpduflags=flags).
local function message(root, cost, bridge, port, age, flags)
  return GROUP .. bridge .. "\0\38\66\66\3\0\0\0\0" .. (flags or "\0") .. "\222\173"
    .. root .. "\0\0\0" .. string.char(cost) .. "\222\173" .. bridge .. "\0"
    .. string.char(port) .. (age or "\0\0") .. "\20\0\2\0\15\0" .. PADDING
end

local CHANGE = "\0\7\66\66\3\0\0\0\128" .. ("\0"):rep(39)

local function unit_of()
  local function fake(name) return {class = registry.find(name), allowed = {}} end
  local others = {i = fake("Suppressor"), o = fake("Suppressor"),
                  s = fake("EtherSwitch")}
  local unit = click.unit("EtherSpanTree(02:00:00:00:00:05, i, o, s)",
    {inputs = 2, outputs = 2, others = others})
  return unit, others.i.allowed, others.o.allowed
end

describe("EtherSpanTree", function ()
  it("says that it is the root until it hears of a better one", function ()
    local unit = unit_of()
    assert.same({{1, message(OWN, 0, OWN, 0)}, {2, message(OWN, 0, OWN, 1)}},
      unit:wait(2))
    assert.same({}, unit:send(message(OTHER, 0, OTHER, 7), 1))
    assert.equal(1, unit.kept)
    assert.same({{2, message(OTHER, 1, OWN, 1, "\2\0")}}, unit:wait(2))
    assert.equal(" dead020000000001:0007: tc  0 -> dead020000000001  m/h/d: 14/2/f\n"
      .. " ffffffffffffffff:ffff: tc  ffffffff -> ffffffffffffffff  m/h/d: 14/2/f\n"
      .. " dead020000000001:0007: tc  1 -> dead020000000001  m/h/d: 14/2/f\n",
      unit:read("msgs"))
    unit:free()
  end)

  it("opens ports in two steps", function ()
    local unit, input, output = unit_of()
    assert.same({{false, false}, {false, false}}, {input, output})
    unit:wait(15)
    assert.is_false(input[1])
    unit:wait(2)
    assert.same({{true, true}, {false, false}}, {input, output})
    unit:wait(16)
    assert.same({{true, true}, {true, true}}, {input, output})
    unit:free()
  end)

  it("closes the worse of two ways to the root, until the other is gone", function ()
    local unit, _, output = unit_of()
    for _ = 1, 20 do
      unit:send(message(OTHER, 0, OTHER, 7), 2)
      unit:send(message(OTHER, 0, OTHER, 8), 1)
      unit:wait(2)
    end
    assert.same({false, true}, output)
    assert.equal("Changing port 0 from 1 to 0", unit.said[3])
    for _ = 1, 30 do
      unit:send(message(OTHER, 0, OTHER, 8), 1)
      unit:wait(2)
    end
    assert.same({true, true}, output)
    unit:free()
  end)

  it("believes a bridge that says worse than before", function ()
    local unit = unit_of()
    unit:send(message(OTHER, 0, OTHER, 7), 1)
    unit:send(message(OWN, 9, OTHER, 7), 1)
    assert.equal(2, #unit:wait(2))
    unit:free()
  end)

  it("tells the root of changes until that is acknowledged", function ()
    local unit = unit_of()
    unit:send(message(OTHER, 0, OTHER, 7), 1)
    unit:wait(2)
    unit:send(GROUP .. OTHER .. CHANGE, 2)
    assert.same({{1, GROUP .. OWN .. CHANGE},
      {2, message(OTHER, 1, OWN, 1, "\4\0", "\128")}}, unit:wait(2))
    unit:send(message(OTHER, 0, OTHER, 7, "\0\0", "\128"), 1)
    assert.same({{2, message(OTHER, 1, OWN, 1, "\2\0")}}, unit:wait(2))
    unit:free()
  end)

  it("tells the others of changes as the root", function ()
    local unit = unit_of()
    unit:send(GROUP .. OTHER .. CHANGE, 2)
    assert.same({{1, message(OWN, 0, OWN, 0, "\0\0", "\1")},
      {2, message(OWN, 0, OWN, 1, "\0\0", "\129")}}, unit:wait(2))
    unit:free()
  end)

  it("takes nothing else for messages, and no seconds that make no sense", function ()
    local unit = unit_of()
    local better = message(OTHER, 0, OTHER, 7)
    for _, text in ipairs{"", better:sub(1, 40), (better:gsub("\66\66", "\1\1")),
      message(OTHER, 0, OTHER, 7, "\20\0")} do
      unit:send(text, 1)
    end
    assert.equal(2, #unit:wait(2))
    unit:send(better:sub(1, 46) .. ("\0"):rep(14), 1)
    assert.equal("dead020000000001  m/h/d: 6/1/4\n",
      unit:read("msgs"):match("%-> (.-\n)"))
    unit:free()
  end)
end)

local BRIDGE = [[
elementclass Bridge { $eth |
  in, out :: Suppressor;
  s :: EtherSwitch;
  t :: EtherSpanTree($eth, in, out, s);
  input[0] -> [0]t[0] -> [0]output;
  input[1] -> [1]t[1] -> [1]output;
  Idle -> [0]in[0] -> [0]s[0] -> [0]out[0] -> Discard;
  Idle -> [1]in[1] -> [1]s[1] -> [1]out[1] -> Discard;
}
a :: Bridge(2:0:0:0:0:1); b :: Bridge(2:0:0:0:0:2); c :: Bridge(2:0:0:0:0:3);
a[0] -> [1]b; b[1] -> [0]a;
b[0] -> [1]c; c[1] -> [0]b;
c[0] -> [1]a; a[1] -> [0]c;
]]

describe("Three EtherSpanTrees in a ring", function ()
  it("open it at one place", function ()
    local r = click.run(BRIDGE .. "Script(wait 90, stop)")
    local open = {}
    for _, bridge in ipairs{"a", "b", "c"} do
      for port = 1, 2 do
        local allowed = r:find(bridge .. "/out").allowed[port]
        if allowed then open[#open + 1] = bridge .. port end
      end
    end
    assert.equal("a1 a2 b1 b2 c1", table.concat(open, " "))
    r:close()
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")

local A, B, ALL = "\2\0\0\0\0\1", "\2\0\0\0\0\2", ("\255"):rep(6)

local function frame(destination, source, seconds)
  local p = packet.from_string(destination .. source)
  note.clear(p)
  note.set_time(p, seconds or 1)
  return p
end

-- The outputs that the frame leaves by, sorted.
local function ways(unit, i, ...)
  local list = {}
  for k, out in ipairs(unit:send(frame(...), i)) do
    assert.equal(table.concat{(...), (select(2, ...))}, out[2])
    list[k] = out[1]
  end
  unit:free()
  table.sort(list)
  return list
end

describe("Hub", function ()
  it("sends copies to all but where a packet came from", function ()
    local unit = click.unit("Hub", {inputs = 3, outputs = 3})
    assert.same({2, 3}, ways(unit, 1, A, B))
    assert.same({1, 3}, ways(unit, 2, A, B))
    unit = click.unit("Hub", {inputs = 1, outputs = 1})
    assert.same({}, ways(unit, 1, A, B))
    assert.same({["no other port"] = 1}, unit.lost)
  end)
end)

describe("EtherSwitch", function ()
  it("floods, learns, and forwards", function ()
    local unit = click.unit("EtherSwitch", {inputs = 3, outputs = 3})
    assert.same({2, 3}, ways(unit, 1, B, A))
    assert.same({1}, ways(unit, 2, A, B))
    assert.same({2}, ways(unit, 3, B, A)) -- A has moved
    assert.same({3}, ways(unit, 2, A, B))
    assert.same({1, 3}, ways(unit, 2, ALL, B))
    assert.same({1, 2}, ways(unit, 3, "\1\0\94\0\0\1", A))
    assert.equal("02-00-00-00-00-01 2\n02-00-00-00-00-02 1\n", unit:read("table"))
  end)

  it("doesn't send back, nor what is too short", function ()
    local unit = click.unit("EtherSwitch", {inputs = 2, outputs = 2})
    ways(unit, 1, B, A)
    assert.same({}, ways(unit, 1, A, B))
    assert.same({}, unit:send("elevenbytes"))
    assert.same({filtered = 1, ["too short"] = 1}, unit.lost)
  end)

  it("forgets, and with TIMEOUT 0 learns nothing", function ()
    local unit = click.unit("EtherSwitch(TIMEOUT 10)", {inputs = 3, outputs = 3})
    ways(unit, 1, B, A, 1)
    assert.same({1}, ways(unit, 2, A, B, 10))
    assert.same({1, 3}, ways(unit, 2, A, B, 11))
    unit:write("timeout", "0")
    assert.equal("0", unit:read("timeout"))
    assert.same({2, 3}, ways(unit, 1, B, A, 12))
    assert.equal("expected timeout (integer)", unit:write("timeout", "x"))
  end)

  it("has no address in its table that it has found too old", function ()
    local unit = click.unit("EtherSwitch(TIMEOUT 10)", {inputs = 3, outputs = 3})
    ways(unit, 1, B, A, 1)
    assert.same({1, 3}, ways(unit, 2, A, B, 11))
    assert.equal("02-00-00-00-00-02 1\n", unit:read("table"))
    unit:write("timeout", "100") -- counts for what is known, too
    assert.same({2}, ways(unit, 1, B, A, 110))
    unit:write("timeout", "5")
    assert.same({2, 3}, ways(unit, 1, B, A, 116))
  end)

  it("has room for 65,536 addresses, and keeps those in use", function ()
    local unit = click.unit("EtherSwitch", {inputs = 3, outputs = 3})
    local function from(n)
      return string.char(4, 0, 0, bit.rshift(n, 16), bit.band(bit.rshift(n, 8), 255),
        bit.band(n, 255))
    end
    ways(unit, 3, B, A, 1)
    for n = 1, 70000 do
      unit:send(frame(ALL, from(n), 1 + n / 1e5), 1)
      if n % 1000 == 0 then ways(unit, 3, B, A, 1 + n / 1e5) end
    end
    local _, lines = unit:read("table"):gsub("\n", "")
    assert.equal(65536, lines)
    assert.equal(tostring(70001 - 65536), unit:read("evicted"))
    assert.same({3}, ways(unit, 2, A, B, 2))
  end)

  it("takes over what a former one knew, but of ports that are gone", function ()
    local old = click.unit("EtherSwitch(TIMEOUT 10)", {inputs = 4, outputs = 4})
    ways(old, 4, B, A)
    ways(old, 2, A, B)
    local unit = click.unit("EtherSwitch(TIMEOUT 20)", {inputs = 3, outputs = 3})
    unit.element:take_state(old.element)
    assert.equal("02-00-00-00-00-02 1\n", unit:read("table"))
    assert.same({2, 3}, ways(unit, 1, A, "\2\0\0\0\0\3"))
    assert.same({2}, ways(unit, 1, B, A, 20))
    assert.same({1, 3}, ways(unit, 2, "\2\0\0\0\0\3", A, 21))
  end)

  it("can be told what goes nowhere", function ()
    local unit = click.unit("EtherSwitch", {inputs = 3, outputs = 3})
    assert.is_nil(unit:write("remove_port_forwarding", "0 1, 1 0 2"))
    assert.equal("weight: 1\t0: 001\nweight: 0\t1: 000\nweight: 2\t2: 110\n",
      unit:read("port_forwarding"))
    assert.same({3}, ways(unit, 1, B, A))
    assert.same({}, ways(unit, 2, A, B))
    assert.equal("invalid port forwarding", unit:write("remove_port_forwarding", "0 3"))
    unit:write("reset_port_forwarding")
    assert.same({1, 3}, ways(unit, 2, ALL, B))
  end)
end)

describe("EtherSwitches on several CPUs", function ()
  local function copy(number)
    return click.unit("EtherSwitch(TIMEOUT 80)", {inputs = 3, outputs = 3, name = "s",
      copy = {number = number, of = 2}})
  end

  it("tell each other where stations are, and that they are still there", function ()
    local one, two = copy(0), copy(1)
    assert.same({2, 3}, ways(one, 1, B, A))
    assert.same({1}, ways(two, 2, A, B)) -- it was told
    assert.same({2}, ways(one, 3, B, A, 2)) -- A has moved
    assert.same({3}, ways(two, 2, A, B, 2))
    for seconds = 10, 170, 5 do ways(one, 3, B, A, seconds) end
    assert.same({3}, ways(two, 1, A, B, 171))
    assert.same({1, 2}, ways(two, 3, B, A, 260)) -- B has been gone for so long
    assert.same({3}, ways(one, 1, A, "\2\0\0\0\0\3", 270))
    for _, unit in ipairs{one, two} do unit.element:cleanup() end
  end)

  it("keep timeouts of their own for what others saw", function ()
    local one, two = copy(0), copy(1)
    ways(one, 1, B, A)
    assert.same({1}, ways(two, 2, A, B, 2))
    assert.same({1, 3}, ways(two, 2, A, B, 90))
    for _, unit in ipairs{one, two} do unit.element:cleanup() end
  end)

  it("have one table together", function ()
    local join = require("click.element").handlers(
      require("click.registry").find("EtherSwitch")).table.join
    assert.equal("a 1\nb 2\nc 1\n", join{"a 1\nc 1\n", "a 1\nb 2\n"})
  end)
end)

describe("ListenEtherSwitch", function ()
  it("sends a copy of everything to its last output", function ()
    local unit = click.unit("ListenEtherSwitch", {inputs = 2, outputs = 3})
    assert.same({2, 3}, ways(unit, 1, B, A))
    assert.same({1, 3}, ways(unit, 2, A, B))
    assert.same({3}, ways(unit, 1, A, B))
    assert.equal("invalid port forwarding", unit:write("remove_port_forwarding", "2 0"))
  end)
end)

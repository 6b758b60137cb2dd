-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local going_on = require("net.keep.going_on")
local keep = require("net.keep.keep")
local kept = require("testing.kept")
local note = require("click.note")
local outside = require("core.outside.visitors")
local packet = require("core.packet")
local stderr = require("testing.stderr")

local function frame(n, unit)
  local p = packet.from_string(("\255"):rep(6) .. "\2\0\0\0\0" .. string.char(n))
  note.clear(p)
  note.set_time(p, unit.element.router:now())
  return p
end

-- An element, with what is kept of it from now on.
local function started(text, options)
  local unit = click.unit(text, options)
  local item = unit.element:kept_state()
  item.of = "unit"
  keep.records(item)
  return unit
end

describe("EtherSwitch", function ()
  before_each(kept.set_up)
  after_each(kept.tear_down)

  local function switch(ports)
    return started("EtherSwitch(TIMEOUT 60)", {inputs = ports, outputs = ports})
  end

  it("goes on with stations, at ports that there are", function ()
    local unit = switch(3)
    for i = 1, 3 do unit:send(frame(i, unit), i) end
    unit:free()
    kept.again()
    assert.equal("02-00-00-00-00-01 0\n02-00-00-00-00-02 1\n",
      switch(2):read("table"))
    assert.equal("perigee: --keep spec: unit goes on with 2 of 3 records; not used: 1 "
      .. "of a port that is gone\n", stderr.told())
  end)

  it("sends to stations before all are restored", function ()
    local few = going_on.FEW
    finally(function () going_on.FEW = few end)
    going_on.FEW = 0
    local unit = switch(3)
    for i = 1, 40 do unit:send(frame(i, unit), 1 + i % 3) end
    unit:free()
    kept.again()
    local other = switch(2)
    assert.equal("", other:read("table"))
    local p = packet.from_string("\2\0\0\0\0\3\2\0\0\0\0\100") -- to 3, at port 0
    note.clear(p)
    note.set_time(p, other.element.router:now())
    other:send(p, 2)
    assert.equal("02-00-00-00-00-03 0\n02-00-00-00-00-64 1\n", other:read("table"))
    repeat outside.tend(0) until stderr.told():find("goes on with")
    assert.truthy(stderr.told():find("with 27 of 40 records; not used: 13 of a port"))
  end)

  it("believes no file", function ()
    local unit = switch(3)
    for i = 1, 40 do unit:send(frame(i, unit), 1 + i % 3) end
    unit:free()
    kept.mutate("unit", kept.MUTANTS / 5, function ()
      local other = switch(3)
      for line in other:read("table"):gmatch("[^\n]+") do
        assert.truthy(line:match("^[%x-]+ [012]$"), line)
      end
      other:send(frame(1, other), 2)
      other:free()
    end)
  end)
end)

describe("ARPTable", function ()
  before_each(kept.set_up)
  after_each(kept.tear_down)

  it("goes on with what it knows", function ()
    local unit = started("ARPTable")
    assert.is_nil(unit:write("insert", "10.0.0.1 02:00:00:00:00:01"))
    assert.is_nil(unit:write("insert", "255.0.0.2 02:00:00:00:00:02"))
    assert.is_nil(unit:write("delete", "10.0.0.1"))
    assert.is_nil(unit:write("insert", "10.0.0.3 02:00:00:00:00:03"))
    kept.again()
    local lines = {}
    for line in started("ARPTable"):read("table"):gmatch("(%S+ %d %S+)") do
      lines[#lines + 1] = line
    end
    table.sort(lines)
    assert.same({"10.0.0.3 1 02-00-00-00-00-03", "255.0.0.2 1 02-00-00-00-00-02"},
      lines)
  end)
end)

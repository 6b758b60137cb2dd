-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

-- A reply to 10.0.0.9, at 2:0:0:0:0:9, that 10.0.0.`ip` is at 2:0:0:0:0:`mac`.
local function reply(ip, mac)
  local from = "\2\0\0\0\0" .. string.char(mac)
  return "\2\0\0\0\0\9" .. from .. "\8\6\0\1\8\0\6\4\0\2" .. from .. "\10\0\0"
    .. string.char(ip) .. "\2\0\0\0\0\9\10\0\0\9"
end

local ENTRY = "10.0.0.9 2:0:0:0:0:9 10.0.0.%d 2:0:0:0:0:%d"

describe("ARPFaker", function ()
  it("says so again and again", function ()
    local unit = click.unit("ARPFaker(10.0.0.9, 2:0:0:0:0:9, 10.0.0.1, 2:0:0:0:0:1)",
      {inputs = 0})
    assert.same({}, unit:wait(0.9))
    assert.same({{1, reply(1, 1)}}, unit:wait(0.2))
    assert.equal(2, #unit:wait(20))
    unit:free()
  end)
end)

describe("ARPAdvertiser", function ()
  local function new(text) return click.unit(text, {inputs = 0}) end

  it("sends what its table has", function ()
    local unit = new("ARPAdvertiser(10.0.0.9, 2:0:0:0:0:9, 10.0.0.1, 2:0:0:0:0:1)")
    assert.same({{1, reply(1, 1)}}, unit:wait(1.1))
    assert.is_nil(unit:write("insert", ENTRY:format(2, 3)))
    assert.same({{1, reply(1, 1)}, {1, reply(2, 3)}}, unit:wait(10))
    assert.is_nil(unit:write("delete", ENTRY:format(1, 1)))
    assert.same({{1, reply(2, 3)}}, unit:wait(10))
    assert.equal("[Dst IP          10.0.0.9, Dst MAC 02:00:00:00:00:09] --> "
      .. "[Adv IP          10.0.0.2, Adv MAC 02:00:00:00:00:03]\n", unit:read("table"))
    assert.same({"1", 10}, {unit:read("count"), unit:read("capacity")})
    unit:write("clear")
    assert.same({}, unit:wait(20))
    unit:free()
  end)

  it("refuses what it can't insert or delete", function ()
    local unit = new("ARPAdvertiser(CAPACITY 1)")
    for _, text in ipairs{"", "10.0.0.9", ENTRY:format(1, 1) .. " x",
      "x 2:0:0:0:0:9 10.0.0.1 2:0:0:0:0:1"} do
      assert.matches("requires 4 space%-separated", unit:write("insert", text))
    end
    local text = ENTRY:format(1, 1)
    assert.equal("Cannot find ARP entry: " .. text, unit:write("delete", text))
    unit:write("insert", text)
    assert.equal("Already present ARP entry: " .. text, unit:write("insert", text))
    assert.same({"1", 1}, {unit:read("count"), unit:read("capacity")})
    assert.same({"ARP table capacity must be a positive integer"},
      new("ARPAdvertiser(CAPACITY 0)").errors)
    assert.same({"an entry needs DSTIP, DSTETH, SRCIP and SRCETH"},
      new("ARPAdvertiser(10.0.0.9)").errors)
  end)
end)

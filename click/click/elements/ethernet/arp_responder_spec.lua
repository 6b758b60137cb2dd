-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")

local ASKER, ME = "\2\0\0\0\0\9", "\2\0\0\0\0\1"

local function request(for_ip)
  return ("\255"):rep(6) .. ASKER .. "\8\6\0\1\8\0\6\4\0\1" .. ASKER .. "\10\0\0\9"
    .. ("\0"):rep(6) .. for_ip
end

local function answer(ip, eth)
  return ASKER .. eth .. "\8\6\0\1\8\0\6\4\0\2" .. eth .. ip .. ASKER .. "\10\0\0\9"
end

describe("ARPResponder", function ()
  it("answers for its addresses", function ()
    local unit = click.unit(
      "ARPResponder(10.0.0.1 2:0:0:0:0:1, 10.1/16 10.2.0.0/16 2:0:0:0:0:2)",
      {outputs = 2})
    local function gets(ip, eth)
      assert.same({{1, answer(ip, eth)}}, unit:send(request(ip)))
    end
    gets("\10\0\0\1", ME)
    gets("\10\1\2\3", "\2\0\0\0\0\2")
    gets("\10\2\255\255", "\2\0\0\0\0\2")
    assert.same({{2, request("\10\0\0\2")}}, unit:send(request("\10\0\0\2")))
    unit:free()
  end)

  it("answers what is padded, and nothing but requests", function ()
    local unit = click.unit("ARPResponder(0/0 2:0:0:0:0:1)")
    local ip = "\10\0\0\1"
    assert.same({{1, answer(ip, ME)}}, unit:send(request(ip) .. ("\0"):rep(18)))
    local frames = {request(ip):sub(1, 41), "", answer(ip, ME),
      (request(ip):gsub("\8\6", "\8\7")), (request(ip):gsub("\4\0\1", "\4\0\3"))}
    for _, frame in ipairs(frames) do
      assert.same({}, unit:send(frame))
    end
    assert.same({["no answer"] = 5}, unit.lost)
    unit:free()
  end)

  it("notes of an answer the request's VLAN, and nothing else", function ()
    local unit = click.unit("ARPResponder(0/0 2:0:0:0:0:1)")
    local p = packet.from_string(request("\1\2\3\4"))
    note.clear(p)
    p.note8[note.PAINT], p.note16[note.VLAN_TCI], p.note64[note.TIMESTAMP] = 1, 5, 7
    p = unit:pass(p)
    assert.same({0, 5, 0}, {p.note8[note.PAINT], p.note16[note.VLAN_TCI],
      tonumber(p.note64[note.TIMESTAMP])})
    assert.equal(p.data_off + 14, p.note16[note.NETWORK_HEADER])
    packet.free(p)
  end)

  it("has its entries in the order they are looked at", function ()
    local unit =
      click.unit("ARPResponder(1.0.0.0/24 0:1:2:3:4:6, 1.0.0.2/32 0:1:2:3:4:5)")
    assert.equal("1.0.0.2/32 00-01-02-03-04-05\n1.0.0.0/24 00-01-02-03-04-06\n",
      unit:read("table"))
    assert.equal("00-01-02-03-04-06", unit:read("lookup", "1.0.0.1"))
    assert.equal("00-01-02-03-04-05", unit:read("lookup", "1.0.0.2"))
    assert.equal("", unit:read("lookup", "1.0.1.2"))
    assert.is_nil(unit:write("remove", "1.0.0.2"))
    assert.equal("1.0.0.2/32 not found", unit:write("remove", "1.0.0.2"))
    assert.is_nil(unit:write("add", "1.0.0.9/24 0:0:0:0:0:1"))
    assert.equal("1.0.0.0/24 00-00-00-00-00-01\n", unit:read("table"))
  end)

  it("warns of a group's address, which FastClick takes, too", function ()
    local unit = click.unit("ARPResponder(10.0.0.1 1:0:5e:0:0:1)")
    assert.same({"01-00-5E-00-00-01 is a group's address, which nobody believes "
      .. "10.0.0.1/32 to have"}, unit.warnings)
    assert.same({}, unit.errors)
    unit:free()
  end)

  it("says what is wrong", function ()
    local function errors(config)
      return click.unit("ARPResponder(" .. config .. ")").errors
    end
    assert.same({"argument 0: missing ETH", "argument 1: missing IP/MASK",
      "argument 2: more than one ETH", "argument 3: expected IP/MASK ETH"},
      errors("1.0.0.1, 1:1:1:1:1:1, 1.0.0.1 1:1:1:1:1:1 1:1:1:1:1:2, 1.0.0.1 x"))
    local unit = click.unit("ARPResponder(1.0.0.1 2:1:1:1:1:1, 1.0.0.1 2:1:1:1:1:2)")
    assert.same({"multiple entries for 1.0.0.1/32"}, unit.warnings)
    assert.equal("02-01-01-01-01-02", unit:read("lookup", "1.0.0.1"))
  end)
end)

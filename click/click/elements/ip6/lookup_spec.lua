-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local ffi = require("ffi")
local note = require("click.note")
local packet = require("core.packet")
local types = require("click.arguments").types
local wire = require("click.net.wire")

local function to(address)
  local p = packet.from_string("x")
  note.clear(p)
  ffi.copy(p.note8 + note.DST_IP6, types.ip6(address, {}), 16)
  return p
end

-- The output and the annotation then; nil if it doesn't leave.
local function way(unit, address)
  local p, o = unit:pass(to(address))
  if not p then return nil end
  local text = wire.ip6_text(p.note8 + note.DST_IP6)
  packet.free(p)
  return o .. " " .. text
end

describe("LookupIP6Route", function ()
  it("finds the longest prefix, and notes the gateway", function ()
    local unit = click.unit([[LookupIP6Route(2001:db8::2/128 ::0 0, 2001:db8::/32 1,
      2001:db8:1::/45 2001:db8::9 2, ::/0 ::c0a8:1 3)]], {outputs = 4})
    assert.same({}, unit.errors)
    assert.equal("1 2001:db8::2", way(unit, "2001:db8::2"))
    assert.equal("3 2001:db8::9", way(unit, "2001:db8::3"))
    assert.equal("3 2001:db8::9", way(unit, "2001:db8:7:ffff::1"))
    assert.equal("2 2001:db8:8::1", way(unit, "2001:db8:8::1"))
    assert.equal("4 ::192.168.0.1", way(unit, "fe80::1"))
  end)

  it("takes commands", function ()
    local unit = click.unit("LookupIP6Route(2001:db8::/32 0)", {outputs = 2})
    assert.is_nil(way(unit, "fe80::1"))
    assert.same({["no route"] = 1}, unit.lost)
    assert.is_nil(unit:write("add", "fe80::/10 2001:db8::1 1"))
    assert.equal("2 2001:db8::1", way(unit, "fe80::1"))
    assert.equal("# Active routes\n2001:db8::/32\t::\t0\nfe80::/10\t2001:db8::1\t1\n",
      unit:read("table"))
    assert.is_nil(unit:write("ctrl", "add 2001:db8::/32 1"))
    assert.equal("2 2001:db8::7", way(unit, "2001:db8::7"))
    assert.is_nil(unit:write("remove", "2001:db8::/32"))
    assert.is_nil(way(unit, "2001:db8::7"))
    assert.equal("output port out of range", unit:write("add", "::/0 2"))
    assert.matches("bad command", unit:write("ctrl", "x"))
  end)

  it("checks its arguments", function ()
    local function errors(config)
      return click.unit("LookupIP6Route(" .. config .. ")", {outputs = 2}).errors
    end
    assert.same({"argument 1 should be DADDR/MASK [GW] OUTPUT"}, errors("10.0.0.1 0"))
    assert.same({"need 3 or more output ports"}, errors("::/0 2"))
  end)
end)

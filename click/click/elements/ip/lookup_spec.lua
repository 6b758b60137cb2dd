-- SPDX-License-Identifier: Apache-2.0
local bit = require("bit")
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")
local wire = require("click.net.wire")

local function to(a, b, c, d)
  local p = packet.from_string("x")
  note.clear(p)
  p.note32[note.DST_IP] = wire.word_of(((a * 256 + b) * 256 + c) * 256 + d)
  return p
end

-- The output that a packet leaves by, and its annotation then; nil if it doesn't.
local function way(unit, ...)
  local p, o = unit:pass(to(...))
  if not p then return nil end
  local address = wire.word_text(bit.tobit(p.note32[note.DST_IP]))
  packet.free(p)
  return ("%d %s"):format(o, address)
end

local CONFIG = [[18.26.4.24/32 0, 18.26.4/24 1, 18.26/16 18.26.0.1 2,
  0/0 18.26.4.1 3]]

local NAMES = {"StaticIPLookup", "LinearIPLookup", "SortedIPLookup", "RadixIPLookup",
  "DirectIPLookup", "RangeIPLookup", "LookupIPRouteMP"}

describe("IP lookups", function ()
  it("find the longest prefix, and note the gateway", function ()
    for _, name in ipairs(NAMES) do
      local unit = click.unit(name .. "(" .. CONFIG .. ")", {outputs = 4})
      assert.same({}, unit.errors)
      assert.equal("1 18.26.4.24", way(unit, 18, 26, 4, 24))
      assert.equal("2 18.26.4.25", way(unit, 18, 26, 4, 25))
      assert.equal("3 18.26.0.1", way(unit, 18, 26, 5, 25))
      assert.equal("4 18.26.4.1", way(unit, 18, 27, 0, 0))
    end
  end)

  it("drop what has no route, and say so five times", function ()
    local unit = click.unit("LinearIPLookup(10/8 0)")
    for _ = 1, 7 do assert.is_nil(way(unit, 11, 0, 0, 1)) end
    assert.same({["no route"] = 7}, unit.lost)
    assert.equal(5, #unit.said)
    assert.equal("LinearIPLookup: no route for 11.0.0.1", unit.said[1])
  end)

  it("take commands", function ()
    local unit = click.unit("RadixIPLookup(10/8 0)", {outputs = 3})
    assert.is_nil(unit:write("add", "10.1/16 9.9.9.9 1"))
    assert.equal("1 9.9.9.9", unit:read("lookup", "10.1.0.1"))
    assert.equal("conflict with existing route '10.1.0.0/16 9.9.9.9 1'",
      unit:write("add", "10.1/16 2"))
    assert.is_nil(unit:write("set", "10.1/16 2"))
    assert.equal("2", unit:read("lookup", "10.1.0.1"))
    assert.equal("route '10.1.0.0/16 - 1' not found", unit:write("remove", "10.1/16 1"))
    assert.is_nil(unit:write("remove", "10.1/16"))
    assert.equal("0", unit:read("lookup", "10.1.0.1"))
    assert.equal("-1", unit:read("lookup", "11.1.0.1"))
    assert.equal("bad OUTPUT", unit:write("add", "10.1/16 3"))
    assert.equal("expected 'ADDR/MASK [GATEWAY] OUTPUT'", unit:write("add", "10.1/16"))
    assert.equal("expected 'ADDR/MASK [GATEWAY OUTPUT]'", unit:write("remove", "x"))
    assert.is_nil(unit:write("flush"))
    assert.equal("", unit:read("table"))
  end)

  it("take groups of commands, all or none", function ()
    local unit = click.unit("RangeIPLookup(10/8 0)", {outputs = 3})
    assert.is_nil(unit:write("ctrl", "add 10.1/16 1\n\nset 10/8 2\nremove 10.1/16 1\n"))
    assert.equal("10.0.0.0/8\t\t-\t\t2\n", unit:read("table"))
    assert.equal("bad command 'nonsense'",
      unit:write("ctrl", "set 10/8 1.1.1.1 0\nadd 11/8 1\nremove 10/8\nnonsense 1"))
    assert.equal("10.0.0.0/8\t\t-\t\t2\n", unit:read("table"))
    assert.equal("2", unit:read("lookup", "10.1.0.1"))
  end)

  it("say when there are too many gateways, and go on", function ()
    local list = {}
    for i = 1, 65535 do
      list[i] = ("1.%d.%d.0/24 9.%d.%d.0 0"):format(math.floor(i / 256), i % 256,
        math.floor(i / 256), i % 256)
    end
    local text = table.concat(list, ",")
    for _, more in ipairs{",2/8 2.2.2.2 0", ",2.0.0.0/8 2.2.2.2 0"} do
      for _, name in ipairs{"LinearIPLookup", "LookupIPRouteMP"} do
        local unit = click.unit(name .. "(" .. text .. more .. ")")
        assert.matches("argument 65536: more than 65535 different pairs",
          table.concat(unit.errors))
      end
    end
    local unit = click.unit("RadixIPLookup(" .. text .. ")")
    local problem = "more than 65535 different pairs of gateway and port"
    assert.equal(problem, unit:write("add", "2/8 2.2.2.2 0"))
    assert.equal(problem, unit:write("ctrl",
      "set 1.0.1.0/24 9.0.2.0 0\nadd 2/8 2.2.2.2 0\nadd 3/8 3.3.3.3 0"))
    assert.equal("0 9.0.1.0", unit:read("lookup", "1.0.1.1"))
    assert.equal("-1", unit:read("lookup", "2.0.0.1"))
    assert.is_nil(unit:write("ctrl", "set 1.0.1.0/24 9.0.2.0 0\nadd 2/8 2.2.2.2 0"))
    assert.equal("0 2.2.2.2", unit:read("lookup", "2.0.0.1"))
  end)

  it("take ports in octal digits, however the route is written", function ()
    local unit = click.unit("LinearIPLookup(10/8 010, 11.0.0.0/8 010)", {outputs = 11})
    assert.same({"8", "8"}, {unit:read("lookup", "10.0.0.1"),
      unit:read("lookup", "11.0.0.1")})
  end)

  it("show the table in columns", function ()
    local unit = click.unit("LinearIPLookup(1.2.3.4/20 0, 111.222.111.222/32 1,"
      .. " 0/0 111.111.111.111 0, 1.0.0.0/255.0.0.255 2.2.2.2 1)", {outputs = 2})
    assert.equal("1.2.0.0/20\t\t-\t\t0\n111.222.111.222/32\t-\t\t1\n"
      .. "0.0.0.0/0\t\t111.111.111.111\t0\n1.0.0.0/255.0.0.255\t2.2.2.2\t\t1\n",
      unit:read("table"))
    assert.equal("1 2.2.2.2", unit:read("lookup", "1.99.99.0"))
    assert.equal("0 111.111.111.111", unit:read("lookup", "1.99.99.1"))
  end)

  it("stay right when there are many routes", function ()
    local unit = click.unit("DirectIPLookup(0/0 8.8.8.8 0)", {outputs = 3})
    for i = 0, 299 do
      local net = ("10.%d.%d.0/24"):format(i % 7, math.floor(i / 7))
      local gateway = ("9.0.%d.%d"):format(math.floor(i / 256), i % 256)
      assert.is_nil(unit:write("add", ("%s %s %d"):format(net, gateway, i % 3)))
    end
    for i = 0, 299 do
      assert.equal(("%d 9.0.%d.%d"):format(i % 3, math.floor(i / 256), i % 256),
        unit:read("lookup", ("10.%d.%d.9"):format(i % 7, math.floor(i / 7))))
    end
    assert.equal("0 8.8.8.8", unit:read("lookup", "10.7.0.1"))
    assert.is_nil(unit:write("remove", "10.0.0.0/24 9.0.0.0 0"))
    assert.equal("0 8.8.8.8", unit:read("lookup", "10.0.0.1"))
    assert.equal("3 9.0.0.2", way(unit, 10, 2, 0, 1))
    assert.is_nil(unit:write("flush"))
    assert.is_nil(way(unit, 10, 2, 0, 1))
  end)

  it("stay right when they change often", function ()
    local unit = click.unit("RadixIPLookup(10/8 0)", {outputs = 2})
    for i = 1, 50 do
      unit:write("set", "10.1/16 9.9.9." .. i .. " 1")
      assert.equal("2 9.9.9." .. i, way(unit, 10, 1, 0, 1))
      unit:write("remove", "10.1/16")
      assert.equal("1 10.1.0.1", way(unit, 10, 1, 0, 1))
    end
  end)

  it("check their arguments", function ()
    local unit = click.unit("LinearIPLookup(10/8 0, 10/8 0, 11/8)")
    assert.same({"1 route replaced by later versions"}, unit.warnings)
    assert.same({"argument 3 should be 'ADDR/MASK [GATEWAY] OUTPUT'"}, unit.errors)
    assert.same({"argument 1 bad OUTPUT"}, click.unit("LinearIPLookup(10/8 1)").errors)
    assert.same({"need 3 or more output ports"},
      click.unit("LookupIPRouteMP(10/8 2)", {outputs = 2}).errors)
    assert.same({"argument 1 should be 'DADDR/MASK [GATEWAY] OUTPUT'"},
      click.unit("LookupIPRouteMP(10/8)", {outputs = 2}).errors)
  end)

  it("take the table of the one before, if its text is the same", function ()
    local text = "Idle -> l :: RadixIPLookup(10/8 0, 11/8 1) -> Discard; l[1] -> Idle%s"
    local function with(more, old)
      return assert(click.router(text:format(more), {old = old}))
    end
    local first = with("")
    local routes = first:find("l").routes
    local second = with("; Idle -> Idle", first)
    assert.equal(routes, second:find("l").routes)
    assert.equal("1", (second:handler_read("l.lookup 11.0.0.1")))
    -- Not what a handler has changed.
    assert.is_true((second:handler_write("l.add", "12/8 1")))
    local third = with("", second)
    assert.not_equal(routes, third:find("l").routes)
    assert.equal("-1", (third:handler_read("l.lookup 12.0.0.1")))
    for _, r in ipairs{first, second, third} do r:close() end
  end)
end)

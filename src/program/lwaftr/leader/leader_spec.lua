-- SPDX-License-Identifier: Apache-2.0

local change = require("program.lwaftr.leader.change")
local path = require("program.lwaftr.leader.path")
local printer = require("program.lwaftr.leader.printer")
local reader = require("apps.lwaftr.conf_reader")
local schema = require("apps.lwaftr.conf_schema")
local tree = require("program.lwaftr.leader.tree")

local CONF = [[
softwire-config {
  binding-table {
    softwire { ipv4 192.0.2.1; psid 1; b4-ipv6 2001:db8::1; br-address fc00::100;
      port-set { psid-length 6; } }
  }
  instance { device "a b"; queue { id 3;
    external-interface { ip 10.0.1.1; mac 02:aa:aa:aa:aa:aa; next-hop { ip 10.0.1.2; } }
    internal-interface { ip fc00::100; mac 02:aa:aa:aa:aa:ab;
      next-hop { mac 02:99:99:99:99:99; } } } }
}
]]

-- A router (program.lwaftr.router) without a graph.
local function router()
  local conf = reader.text(CONF)
  return {
    conf = conf, binding = conf.softwire_config.binding_table.softwires,
    tell = function () end,
    configure = function (self, new) self.conf = new end,
    swap = function (self, softwires)
      self.binding = softwires
      self.conf.softwire_config.binding_table.softwires = softwires
    end,
  }
end

local function get(r, text, format, defaults)
  local target = path.find(schema, text)
  return printer.text(target, tree.get(r.conf, target), format, defaults)
end

describe("a path", function ()
  it("is steps with keys", function ()
    assert.same({{name = "a"}, {name = "b", keys = {c = "d", e = "/f"}}, {name = "g"}},
      path.parse("//a/b[c=d][e=/f]g/"))
    assert.same({}, path.parse("/"))
    for _, wrong in ipairs{"a[", "[a=b]", "a[b]", "a[b=c", "=", "a]"} do
      assert.has_error(function () path.parse(wrong) end)
    end
  end)

  it("leads to nodes of a schema", function ()
    local target = path.find(schema, "/softwire-config/instance[device=a b]/queue")
    assert.True(target.is_list)
    assert.equal("queue", target.node.name)
    assert.equal("a b", target.steps[2].key)
    target = path.find(schema,
      "/softwire-config/binding-table/softwire[psid=1][ipv4=192.0.2.1]/b4-ipv6")
    assert.same({ipv4 = 0xc0000201, psid = 1}, target.steps[3].key)
  end)
end)

describe("text of a configuration", function ()
  it("is read as the same again, in every part", function ()
    local r = router()
    assert.equal(get(r, "/"), get({conf = reader.text(get(r, "/"))}, "/"))
    assert.equal("ip 10.0.1.2;\n", get(r,
      "/softwire-config/instance[device=a b]/queue[id=3]/external-interface/next-hop"))
    assert.matches("^{\n  device \"a b\";\n  queue {\n    id 3;\n",
      get(r, "/softwire-config/instance"))
    assert.equal("", get(r, "/softwire-config/internal-interface"))
    assert.matches("mtu 1500;",
      get(r, "/softwire-config/internal-interface", nil, true))
  end)

  it("has other formats", function ()
    local r = router()
    local where = "/softwire-config/instance[device=a b]/queue[id=3]"
    assert.equal(where .. "/external-interface/ip 10.0.1.1\n",
      get(r, where, "xpath"):match("^[^\n]*\n"))
    assert.equal(where .. "/internal-interface/ip fc00::100\n",
      get(r, where .. "/internal-interface/ip", "xpath"))
    assert.matches('/softwire-config/binding-table/softwire/b4-ipv6,'
      .. 'ipv4=192.0.2.1,psid=1 value="2001:db8::1"\n',
      get(r, "/", "influxdb"), 1, true)
    assert.has_error(function () get(r, "/", "xml") end)
  end)

  it("quotes addresses for a database, and marks whole numbers", function ()
    local where = "/softwire-config/binding-table/softwire"
    assert.equal(([[
W/ipv4,ipv4=192.0.2.1,psid=1 value="192.0.2.1"
W/psid,ipv4=192.0.2.1,psid=1 value=1i
W/b4-ipv6,ipv4=192.0.2.1,psid=1 value="2001:db8::1"
W/br-address,ipv4=192.0.2.1,psid=1 value="fc00::100"
W/port-set/psid-length,ipv4=192.0.2.1,psid=1 value=6i
]]):gsub("W", where), get(router(), where, "influxdb"))
  end)

  it("has each softwire's own values, thousands of them", function ()
    local r, where = router(), "/softwire-config/binding-table/softwire"
    local list = {}
    for i = 0, 2100 do
      list[i + 1] = ("{ ipv4 192.0.%d.%d; psid %d; b4-ipv6 2001:db8::%x; "
        .. "br-address fc00::%x; port-set { psid-length 7; "
        .. "reserved-ports-bit-count %d; } }"):format(math.floor(i / 256), i % 256,
        i % 128, i + 1, i % 2, i % 3)
    end
    change.set(r, where, table.concat(list))
    local yang, lines = get(r, "/"), {}
    assert.equal(2101, r.binding:count())
    assert.equal(yang, get({conf = reader.text(yang)}, "/"))
    assert.equal(get(r, where), get({conf = reader.text(yang)}, where))
    for line in get(r, where, "xpath"):gmatch("[^\n]+") do lines[#lines + 1] = line end
    assert.equal(2101 * 6 - 701, #lines)
    local last = where .. "[ipv4=192.0.8.52][psid=52]"
    assert.same({last .. "/ipv4 192.0.8.52", last .. "/psid 52",
      last .. "/b4-ipv6 2001:db8::835", last .. "/br-address fc00::",
      last .. "/port-set/psid-length 7"}, {unpack(lines, #lines - 4)})
    assert.equal(get(r, where, "xpath", true):gsub("[^\n]*/padding 0\n", "")
      :gsub("[^\n]*reserved%-ports%-bit%-count 0\n", ""), get(r, where, "xpath"))
  end)
end)

describe("a change", function ()
  it("leaves what was there before as it was", function ()
    local r = router()
    local before, text = r.conf, get(r, "/")
    change.set(r, "/softwire-config/instance[device=a b]/queue[id=3]"
      .. "/external-interface/next-hop/mac", "02:00:00:00:00:01")
    assert.matches("mac 02:00:00:00:00:01", get(r, "/"))
    assert.not_matches("ip 10.0.1.2", get(r, "/"))
    assert.equal(text, get({conf = before}, "/"))
  end)

  it("adds all or nothing", function ()
    local r = router()
    local text = "{ ipv4 192.0.2.%d; psid 2; b4-ipv6 ::2; br-address ::1; "
      .. "port-set { psid-length %d; } }"
    local where = "/softwire-config/binding-table/softwire"
    -- The first of them is added before the second is found to be wrong.
    assert.has_error(function ()
      change.add(r, where, text:format(0, 6) .. text:format(1, 7))
    end)
    assert.equal(1, r.binding:count())
    change.add(r, where, text:format(1, 6) .. text:format(2, 7))
    assert.equal(3, r.binding:count())
    change.set(r, where .. "[ipv4=192.0.2.2][psid=2]/port-set/psid-length", "8")
    assert.same({8, 0}, {r.binding:port_set(0xc0000202)})
    assert.has_error(function ()
      change.set(r, where .. "[ipv4=192.0.2.1][psid=2]/port-set/psid-length", "8")
    end)
    assert.equal(3, r.binding:count())
    change.set(r, where, "")
    assert.equal(0, r.binding:count())
  end)

  it("takes any path and text without harm #slow", function ()
    math.randomseed(3)
    local paths = {"/softwire-config/instance[device=a b]/queue[id=3]",
      "/softwire-config/binding-table/softwire[ipv4=192.0.2.1][psid=1]/port-set",
      "/softwire-config/external-interface/mtu", "/"}
    local signs = "{};[]=/\"' a1"
    local function spoilt(text)
      local at, sign = math.random(0, #text), math.random(#signs)
      return text:sub(1, at) .. signs:sub(sign, sign)
        .. text:sub(at + math.random(0, 3))
    end
    for _ = 1, 800 do
      local r, where = router(), spoilt(paths[math.random(#paths)])
      local text = spoilt(({"1", "{ id 4; }", CONF})[math.random(3)])
      for _, verb in ipairs{"set", "add", "remove"} do
        local ok, err = pcall(change[verb], r, where, text)
        assert(ok or not tostring(err):match("%.lua:%d"), tostring(err))
      end
      get(r, "/")
    end
  end)
end)

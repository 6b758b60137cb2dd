-- SPDX-License-Identifier: Apache-2.0

local reader = require("apps.lwaftr.conf_reader")
local values = require("apps.lwaftr.conf_values")

local INSTANCE = [[
  instance { device test; external-device 'other one';
    queue { id 3;
      external-interface { ip 10.0.1.1; mac 02:aa:aa:aa:aa:aa; vlan-tag 7;
        next-hop { ip 10.0.1.2; } }
      internal-interface { ip fc00::100; mac 02:aa:aa:aa:aa:ab;
        next-hop { mac 02:99:99:99:99:99; } } } }
]]

local SOFTWIRES = [[
  binding-table {
    softwire { ipv4 192.0.2.1; psid 1; b4-ipv6 2001:db8::1; br-address fc00::100;
      port-set { psid-length 6; reserved-ports-bit-count 2; } padding 0; }
    version { number 12; date "2026-01-31T12:00:00Z"; }
    softwire { port-set { psid-length 0; } ipv4 192.0.2.0; psid 0;
      b4-ipv6 2001:db8::2; br-address fc00::100; }
  }
]]

local function conf(body) return "softwire-config {\n" .. body .. "}\n" end

local function wrong(body)
  local ok, err = pcall(reader.text, conf(body), "a.conf")
  assert.False(ok)
  return tostring(err)
end

describe("reading a configuration", function ()
  it("gives a table as upstream's, with all defaults", function ()
    local c = reader.text(conf(INSTANCE .. SOFTWIRES
      .. "// a comment\n external-interface { mtu 1500; /* one\nmore */ "
      .. "ingress-filter 'tcp' + \" and \\\"x\\\"\"; }")).softwire_config
    assert.equal(1500, c.external_interface.mtu)
    assert.equal('tcp and "x"', c.external_interface.ingress_filter)
    assert.equal(1500, c.internal_interface.mtu)
    assert.equal(0, c.internal_interface.flow_label)
    assert.True(c.internal_interface.hairpinning)
    assert.same({packets = 200, period = 2}, c.internal_interface.error_rate_limiting)
    assert.same({max_fragments_per_packet = 20, max_packets = 20000},
      c.external_interface.reassembly)
    assert.equal("other one", c.instance.test.external_device)
    local queue = c.instance.test.queue[3]
    assert.equal(0x0a000101, queue.external_interface.ip)
    assert.equal(7, queue.external_interface.vlan_tag)
    assert.equal(0x0a000102, queue.external_interface.next_hop.ip)
    assert.equal(0x64, queue.internal_interface.ip[15] + 0x64)
    assert.equal("02:99:99:99:99:99",
      values.mac.write(queue.internal_interface.next_hop.mac))
    local table = c.binding_table
    assert.equal(2, table.softwires:count())
    assert.same({6, 2}, {table.softwires:port_set(0xc0000201)})
    assert.same({number = 12, date = "2026-01-31T12:00:00Z"}, table.version)
  end)

  it("says where a file is wrong", function ()
    local SOFTWIRE = "binding-table { softwire {\n ipv4 192.0.2.1; psid 1; "
      .. "b4-ipv6 ::1;\n br-address ::2; port-set { psid-length 6; }"
    for body, said in pairs{
      ["binding-tabel {"] =
        "a.conf:2: 'binding-tabel' isn't known in softwire-config; "
          .. "is 'binding-table' meant?",
      ["\nexternal-interface { mtu x; }"] =
        "a.conf:3: mtu is a whole number from 0 to 65535, not 'x'",
      ["external-interface { mtu 1; mtu 2; }"] =
        "a.conf:2: mtu is there twice in external-interface",
      ["external-interface { mtu 1 }"] = "a.conf:2: '}' is here, where ';' should be",
      ["external-interface { hairpinning true; }"] =
        "a.conf:2: 'hairpinning' isn't known in external-interface",
      ["external-interface {"] =
        "a.conf:3: the end is here, where a name or '}' should be",
      ["name 'x"] = "a.conf:2: a quote that begins here doesn't end",
      ["/* x"] = "a.conf:2: a comment that begins here doesn't end",
      ["}"] = "a.conf:2: '}' is here, where a name should be",
      ["instance { device a; queue { id 1; } }"] =
        "a.conf:2: this external-interface has no ip",
      ["instance { device a; queue { } }"] = "a.conf:2: this queue has no id",
      ["instance { device a; }\n instance { device a; }"] =
        "a.conf:3: instance 'a' is there twice",
      [INSTANCE:gsub("next%-hop { ip 10.0.1.2; }", "next-hop { }")] =
        "a.conf:5: next-hop has one of ip and mac",
      [SOFTWIRE .. "}"] = "a.conf:5: the end is here, where a name or '}' should be",
      [SOFTWIRE .. "psd 2; } }"] =
        "a.conf:4: 'psd' isn't known in softwire; is 'psid' meant?",
      [SOFTWIRE .. "psid 2; } }"] = "a.conf:4: psid is there twice",
      [SOFTWIRE .. "padding x; } }"] =
        "a.conf:4: padding is a whole number from 0 to 65535, not 'x'",
      [SOFTWIRE .. "}\n" .. SOFTWIRE:match("softwire.*") .. "} }"] =
        "a.conf:5: softwire 192.0.2.1 psid 1 is there already",
      [SOFTWIRE:gsub("psid%-length 6", "psid-length 17") .. "} }"] =
        "a.conf:4: psid-length is a whole number from 0 to 16, not '17'",
      [SOFTWIRE:gsub("192.0.2.1", "192.0.2") .. "} }"] =
        "a.conf:3: ipv4 is an IPv4 address such as 192.0.2.1, not '192.0.2'",
      ["binding-table { softwire { } }"] = "a.conf:2: this softwire has no ipv4",
    } do
      assert.equal(said, wrong(body))
    end
  end)

  it("takes any text without harm #slow", function ()
    math.randomseed(7)
    local text = conf(INSTANCE .. SOFTWIRES)
    local signs = "{};\"'/*+ \n\\:x9"
    for _ = 1, 5000 do
      local at, cut = math.random(#text), math.random(0, 3)
      local sign = math.random(#signs)
      local ok, err = pcall(reader.text, text:sub(1, at) .. signs:sub(sign, sign)
        .. text:sub(at + cut))
      assert(ok or tostring(err):match("^text:%d+: "), err)
    end
  end)

  it("says where a file is cut short, wherever that is #slow", function ()
    local text = conf(INSTANCE .. SOFTWIRES):gsub("%s+$", "")
    for length = 0, #text - 1 do
      local ok, err = pcall(reader.text, text:sub(1, length))
      if length == 0 then
        assert.True(ok) -- all is as the schema says, and there is no instance
      elseif text:sub(1, length):find("%S") then
        assert.False(ok, length)
        assert.truthy(tostring(err):find("^text:%d+: [^\n]+$"), tostring(err))
      end
    end
  end)

  it("has an end with words that have none", function ()
    for _, start in ipairs{"x", "'", '"\\'} do
      assert.equal("a.conf:3: a word or text that begins here has more than a megabyte",
        wrong("\n" .. start .. ("x"):rep(2 ^ 20)))
    end
    local text = ("x"):rep(2 ^ 20 - 1)
    assert.equal(text, reader.text(conf("name " .. text .. ";")).softwire_config.name)
  end)

  it("says which file can't be read", function ()
    local ok, err = pcall(reader.file, "/nowhere/a.conf")
    assert.False(ok)
    assert.equal("the configuration can't be read: /nowhere/a.conf: No such file or "
      .. "directory", tostring(err))
    ok, err = pcall(reader.file, "/")
    assert.same({false, "/:1: it can't be read: Is a directory"}, {ok, tostring(err)})
  end)
end)

-- SPDX-License-Identifier: Apache-2.0

local alarms = require("program.lwaftr.leader.alarms")

local function queue(device, mac)
  local hop = {next_hop = mac and {mac = "known"} or {ip = "to be found"}}
  return {device = device, id = 0, suffix = ("@%s_0"):format(device),
    settings = {external_interface = hop, internal_interface = hop}}
end

-- An lwAFTR with these queues and apps, whose counters and clock the test sets.
local function rig(queues, apps)
  local o = {now = 1000, counters = {}, apps = apps or {},
    router = {list = queues, listen = function (self, heard)
      self.heard = heard
      heard()
    end}}
  local watcher = alarms.watcher(o.router, nil, function (path)
    return o.counters[path] or 0
  end, function () return o.apps end, function () return o.now end)
  -- Pass `seconds`, with a look each hundredth.
  function o.pass(seconds)
    for _ = 1, seconds * 100 do
      o.now = o.now + 0.01
      watcher:tend(o.now)
    end
  end
  function o.raised()
    local names = {}
    for _, alarm in ipairs(watcher.list:state().alarms.alarm_list.alarm) do
      if not alarm.is_cleared then
        names[#names + 1] = alarm.resource .. " " .. alarm.alarm_type_id
          .. " " .. alarm.alarm_type_qualifier
      end
    end
    table.sort(names)
    return names
  end
  function o.types()
    local names = {}
    for _, kind in ipairs(watcher.list:state().alarms.alarm_inventory.alarm_type) do
      names[kind.alarm_type_id .. kind.alarm_type_qualifier] = kind.resource
    end
    return names
  end
  return o
end

describe("alarms of an lwAFTR", function ()
  it("are raised while a next hop isn't found", function ()
    local o = rig{queue("a"), queue("b", true)}
    o.pass(0.5)
    assert.same({}, o.raised())
    o.pass(2)
    assert.same({"a/0 arp-resolution ", "a/0 ndp-resolution "}, o.raised())
    o.counters["apps/arp@a_0/next-hop-macaddr-v4.counter"] = 7
    o.pass(2)
    assert.same({"a/0 ndp-resolution "}, o.raised())
    o.router.list = {queue("a", true)}
    o.router.heard()
    o.pass(2)
    assert.same({}, o.raised())
    assert.same({"a/0"}, o.types()["ndp-resolution"])
  end)

  it("are raised while a port's interface is gone", function ()
    local o = rig({queue("a", true)}, {["inetNic@a_0"] = {}})
    local counter = "apps/inetNic@a_0/interface_away.counter"
    o.pass(2)
    assert.same({}, o.raised())
    o.counters[counter] = 1
    o.pass(2)
    assert.same({"inetNic@a_0 port-interface "}, o.raised())
    o.counters[counter] = 0
    o.pass(2)
    assert.same({}, o.raised())
  end)

  it("are cleared for a queue that is gone", function ()
    local o = rig{queue("a")}
    o.pass(3)
    assert.equal(2, #o.raised())
    o.router.list = {}
    o.router.heard()
    assert.same({}, o.raised())
    assert.same({}, o.types())
  end)

  it("are raised while counters grow too fast", function ()
    local apps = {["ingress_filterv4@a_0"] = {}, ["fast_ingress_filterv4@a_0"] = {},
      ["inetNic@a_0"] = {}}
    local o = rig({queue("a", true)}, apps)
    local function grow(seconds, app, counter, by)
      local path = ("apps/%s@a_0/%s.counter"):format(app, counter)
      for _ = 1, seconds do
        o.counters[path] = (o.counters[path] or 0) + by
        o.pass(1)
      end
      return o.raised()
    end
    for _, each in ipairs{
      {"lwaftr", "drop-no-dest-softwire-ipv4-packets", 2e4, 10,
        "a/0 bad-ipv4-softwires-matches "},
      {"lwaftr", "drop-no-source-softwire-ipv6-packets", 2e4, 10,
        "a/0 bad-ipv6-softwires-matches "},
      {"reassemblerv4", "in-ipv4-frag-needs-reassembly", 1e4, 3,
        "a/0 incoming-ipv4-fragments "},
      {"reassemblerv6", "in-ipv6-frag-needs-reassembly", 1e4, 3,
        "a/0 incoming-ipv6-fragments "},
      {"fragmenterv4", "out-ipv4-frag", 1e4, 3, "a/0 outgoing-ipv4-fragments "},
      {"fragmenterv6", "out-ipv6-frag", 1e4, 3, "a/0 outgoing-ipv6-fragments "},
      {"fast_ingress_filterv4", "rxerrors", 1e6, 3, "a/0 filtered-packets ingress-v4"},
      {"ingress_filterv4", "rxerrors", 1e6, 3, "a/0 filtered-packets ingress-v4"},
      {"inetNic", "rxbytes", 1e9, 3, "inetNic@a_0 ingress-bandwith "},
      {"inetNic", "rxpackets", 2e6, 3, "inetNic@a_0 ingress-packet-rate "},
      {"inetNic", "rxdrop", 3334, 62, "inetNic@a_0 ingress-packet-drop "},
    } do
      local app, counter, limit, seconds, name = unpack(each)
      assert.same({}, grow(seconds, app, counter, limit * 0.8), name)
      assert.same({name}, grow(seconds, app, counter, limit * 1.3), name)
      assert.same({}, grow(seconds, app, counter, 0), name)
    end
    assert.is_nil(o.types()["filtered-packetsegress-v4"])
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
-- Several driver apps on one card. The wire is a ring port; at its other end is an app
-- that has its card for itself.

local config = require("core.config")
local counter = require("core.counter")
local engine = require("core.app")
local intel = require("apps.intel.intel_app")
local intel_mp = require("apps.intel_mp.intel_mp")
local link = require("core.link")
local mellanox = require("apps.mellanox.connectx")
local packet = require("core.packet")
local spec = require("lib.port.spec")

local WIRE, CARD = "0000:fe:01.0", "0000:fe:02.0"
local A, B, C = "02:00:00:00:00:0a", "02:00:00:00:00:0b", "02:00:00:00:00:0c"
local D, E, F = "02:00:00:00:00:0d", "02:00:00:00:00:0e", "02:00:00:00:00:0f"
local GROUP = "ff:ff:ff:ff:ff:ff"

local function bytes_of(mac)
  return (mac:gsub("(%x%x):?", function (x) return string.char(tonumber(x, 16)) end))
end

-- A frame of 60 bytes without its tag, if it has one; `text` is its payload.
local function frame(to, from, vlan, text)
  local tag = vlan and "\129\0" .. string.char(math.floor(vlan / 256), vlan % 256) or ""
  return bytes_of(to) .. bytes_of(from) .. tag .. "\136\181"
    .. (text .. ("\0"):rep(46)):sub(1, 46)
end

local Source = {}
Source.__index = Source
function Source:new(frames) return setmetatable({frames = frames}, self) end
function Source:pull()
  for _, bytes in ipairs(self.frames) do
    link.transmit(self.output.output, packet.from_string(bytes))
  end
  self.frames = {}
end

local Sink = {}
Sink.__index = Sink
function Sink:new() return setmetatable({frames = {}}, self) end
function Sink:push()
  while not link.empty(self.input.input) do
    local p = link.receive(self.input.input)
    table.insert(self.frames, require("ffi").string(p.data, p.length))
    packet.free(p)
  end
end

-- Run `nics`, {NAME = {class, arg, frames to send}}, and `wire`, frames that come in;
-- returns what each received (sorted lists by name), and `wire` what came out of the
-- card.
local function run(nics, wire)
  spec.replace(WIRE, "ring:shared")
  spec.replace(CARD, "ring:shared")
  local c = config.new()
  local function add(name, class, arg, frames)
    config.app(c, name, class, arg)
    config.app(c, name .. "_from", Source, frames or {})
    config.app(c, name .. "_to", Sink)
    config.link(c, ("%s_from.output -> %s.input"):format(name, name))
    config.link(c, ("%s.output -> %s_to.input"):format(name, name))
  end
  add("wire", intel_mp.Intel, {pciaddr = WIRE}, wire)
  for name, nic in pairs(nics) do add(name, unpack(nic)) end
  engine.configure(c)
  engine.main{duration = 0.05, no_report = true}
  local received = {}
  for name, app in pairs(engine.app_table) do
    local of = name:match("^(.*)_to$")
    if of then
      table.sort(app.frames)
      received[of] = app.frames
    end
  end
  return received
end

local function pool(mac, more)
  local arg = {pciaddr = CARD, vmdq = true, macaddr = mac}
  for key, value in pairs(more or {}) do arg[key] = value end
  return arg
end

local function refused(nics)
  local ok, err = pcall(run, nics, {})
  return not ok and tostring(err)
end

describe("Driver apps on one card", function ()
  after_each(function ()
    engine.configure(config.new())
    spec.replace(WIRE, nil)
    spec.replace(CARD, nil)
  end)

  it("receive what is for their address, and for groups", function ()
    local group = frame(GROUP, C, nil, "all")
    local to_a, to_b = frame(A, C, nil, "a"), frame(B, C, nil, "b")
    local received = run({
      a = {intel_mp.Intel, pool(A)}, b = {intel.Intel82599, pool(B)},
    }, {to_a, group, frame(C, A, nil, "nobody's"), to_b})
    assert.same({a = {to_a, group}, b = {to_b, group}, wire = {}}, received)
  end)

  it("send to each other, and to the wire", function ()
    local out, over, all = frame(C, A, nil, "out"), frame(B, A, nil, "over"),
      frame(GROUP, A, nil, "all")
    local received = run({
      a = {intel_mp.Intel, pool(A), {out, over, all}}, b = {intel_mp.Intel, pool(B)},
    }, {})
    assert.same({a = {}, b = {over, all}, wire = {out, all}}, received)
  end)

  it("have VLANs of their own, with tags on the wire only", function ()
    local received = run({
      a = {intel_mp.Intel, pool(A, {vlan = 7}), {frame(C, A, nil, "up")}},
      b = {intel_mp.Intel, pool(A, {vlan = 8})},
    }, {frame(A, C, 7, "seven"), frame(A, C, 8, "eight"), frame(A, C, nil, "none"),
        frame(A, C, 9, "nine")})
    assert.same({a = {frame(A, C, nil, "seven")}, b = {frame(A, C, nil, "eight")},
      wire = {frame(C, A, 7, "up")}}, received)
  end)

  it("may have a VLAN alone on a card", function ()
    local received = run({
      nic = {intel_mp.Intel, {pciaddr = CARD, vlan = 5}, {frame(C, A, nil, "up")}},
    }, {frame(A, C, 5, "down"), frame(A, C, 6, "other")})
    assert.same({nic = {frame(A, C, nil, "down")}, wire = {frame(C, A, 5, "up")}},
      received)
  end)

  local function flows(n)
    local list = {}
    for i = 1, n do
      local ip = "\69\0\0\46\0\0\0\0\64\17\0\0\10\0\0" .. string.char(i)
        .. "\10\1\0\2\4\0\0\53\0\26\0\0"
      list[i] = bytes_of(A) .. bytes_of(C) .. "\8\0" .. ip .. ("\0"):rep(18)
    end
    return list
  end

  for name, more in pairs{["one address"] = {vmdq = true, macaddr = A}, queues = {}} do
    it("share flows: " .. name, function ()
      local frames, nics = flows(200), {}
      for queue = 0, 2 do
        local arg = {pciaddr = CARD, rxq = queue, txq = queue}
        for key, value in pairs(more) do arg[key] = value end
        nics["q" .. queue] = {intel_mp.Intel, arg, {frame(C, A, nil, tostring(queue))}}
      end
      nics.mute = {intel_mp.Intel, {pciaddr = CARD, rxq = false, txq = false,
        vmdq = more.vmdq, macaddr = more.macaddr}, {frame(C, A, nil, "mute")}}
      local received = run(nics, {unpack(frames)})
      local all = {}
      for queue = 0, 2 do
        local list = received["q" .. queue]
        assert.is_true(#list > 20, #list)
        for _, bytes in ipairs(list) do all[#all + 1] = bytes end
      end
      table.sort(all)
      table.sort(frames)
      assert.same(frames, all)
      assert.equal(0, #received.mute)
      assert.equal(3, #received.wire)
    end)
  end

  it("receive copies of what others do, and of the wire", function ()
    local to_a, to_b, up = frame(A, C, nil, "a"), frame(B, C, nil, "b"),
      frame(C, A, nil, "up")
    local received = run({
      a = {intel_mp.Intel, pool(A, {poolnum = 3}), {up}},
      b = {intel_mp.Intel, pool(B)},
      of_a = {intel_mp.Intel, pool(D, {mirror = {pool = {3}}})},
      of_all = {intel_mp.Intel, pool(E, {mirror = {pool = true}})},
      of_wire = {intel_mp.Intel, pool(F, {mirror = {port = "inout"}})},
    }, {to_a, to_b})
    assert.same({a = {to_a}, b = {to_b}, of_a = {to_a}, of_all = {to_a, to_b},
      of_wire = {to_a, to_b, up}, wire = {up}}, received)
  end)

  it("count what passes, those with one counter together", function ()
    run({
      a = {intel_mp.Intel, pool(A, {rxcounter = 3}), {frame(D, A, nil, "up")}},
      b = {intel_mp.Intel, pool(B, {rxcounter = 3})},
      c = {intel_mp.Intel, pool(C, {rxcounter = 4})},
    }, {frame(A, C, nil, "a"), frame(B, C, nil, "b"), frame(C, A, nil, "c")})
    local apps = engine.app_table
    assert.same({counter_id = 3, packets = 2, bytes = 120, dropped = 0},
      apps.a:get_rxstats())
    assert.same({counter_id = 4, packets = 1, bytes = 60, dropped = 0},
      apps.c:get_rxstats())
    assert.same({counter_id = 0, packets = 1, bytes = 60}, apps.a:get_txstats())
    apps.a.next_time = 0
    apps.a:tick()
    assert.equal(1, tonumber(counter.read(apps.a.shm.rxpackets)))
    assert.equal(60, tonumber(counter.read(apps.a.shm.txbytes)))
  end)

  it("send no more than their rate, and 10,000 bytes at once", function ()
    local frames = {}
    for i = 1, 1000 do frames[i] = frame(C, A, nil, tostring(i)) end
    local received = run({nic = {intel_mp.Intel, {pciaddr = CARD, rate_limit = 1},
      frames}}, {})
    assert.is_true(#received.wire >= 166 and #received.wire < 500)
  end)

  it("of a ConnectX share it by their queues' ids", function ()
    local function io(id) return {mellanox.IO, {pciaddress = CARD, queue = id}} end
    local to_a, to_b = frame(A, C, 7, "a"), frame(B, C, nil, "b")
    local queues = {{id = "x", mac = A, vlan = 7}, {id = "y", mac = B}}
    local received = run({
      card = {mellanox.ConnectX, {pciaddress = CARD, queues = queues}},
      x = io("x"), y = io("y"),
    }, {to_a, to_b})
    assert.same({frame(A, C, nil, "a")}, received.x)
    assert.same({to_b}, received.y)
  end)

  it("of a ConnectX that nothing is said of share flows", function ()
    local function io(id) return {mellanox.IO, {pciaddress = CARD, queue = id}} end
    local received = run({x = io("x"), y = io("y")}, flows(100))
    assert.equal(100, #received.x + #received.y)
    assert.is_true(#received.x > 20 and #received.y > 20)
  end)

  it("are refused where they can't be told apart", function ()
    local Intel = intel_mp.Intel
    local function plain(queue) return {Intel, {pciaddr = CARD, rxq = queue}} end
    assert.equal("apps 'a' and 'b' share the card " .. CARD .. ", and both receive "
      .. "from queue 0: give each an rxq of its own, or vmdq = true and a macaddr of "
      .. "its own", refused{a = plain(0), b = plain(0)})
    assert.matches("apps 'a' and 'b' share the card .*, and both receive from queue 1",
      refused{a = {Intel, pool(A, {rxq = 1})}, b = {Intel, pool(A, {rxq = 1})}})
    assert.matches("^apps 'a' and 'b' share the card .*: vmdq is set for both, or for",
      refused{a = plain(0), b = {Intel, pool(A)}})
    assert.matches("^app 'a' on .*: vmdq needs a macaddr, the address by which",
      refused{a = {Intel, pool(nil)}})
    assert.matches("^app 'a' on .*: mirror needs vmdq and a macaddr",
      refused{a = {Intel, {pciaddr = CARD, mirror = {pool = true}}}})
    assert.matches("^apps 'a' and 'b' have pool 2 of the card .*, but not the same mac",
      refused{a = {Intel, pool(A, {poolnum = 2})}, b = {Intel, pool(B, {poolnum = 2})}})
    local five = {}
    for i = 1, 5 do
      five["n" .. i] = {Intel, pool("02:00:00:00:01:0" .. i, {mirror = {pool = true}})}
    end
    assert.matches("^5 apps on .* have a mirror; there may be 4", refused(five))
  end)

  it("are refused with arguments that aren't any", function ()
    local function refusal(more) return refused{a = {intel_mp.Intel, pool(A, more)}} end
    assert.equal(("app 'a' on %s: its rxq is false, or a number from 0 to 127, not 'x'")
      :format(CARD), refusal{rxq = "x"})
    assert.matches("its txq is .* not '1.5'", refusal{txq = 1.5})
    assert.matches("its poolnum is a number from 0 to 63, not '64'",
      refusal{poolnum = 64})
    assert.matches("its rate_limit is a number of Mbit/s, not '%-1'",
      refusal{rate_limit = -1})
    assert.matches("its mirror is a table with pool, .*, not 'true'",
      refusal{mirror = true})
    assert.matches("its mirror is", refusal{mirror = {pool = 3}})
    assert.matches("its mirror is", refusal{mirror = {pool = {"x"}}})
    assert.matches("its mirror is", refusal{mirror = {port = "up"}})
    assert.matches("VLAN is a whole number from 0 to 4094, not '4095'",
      refusal{vlan = 4095})
    assert.matches("'zz' is no MAC address", refused{a = {intel_mp.Intel, pool("zz")}})
  end)

  it("of a ConnectX have queues that it has", function ()
    local function refusal(queues, id)
      local c = config.new()
      config.app(c, "card", mellanox.ConnectX, {pciaddress = CARD, queues = queues})
      config.app(c, "y", mellanox.IO, {pciaddress = CARD, queue = id})
      local ok, err = pcall(engine.configure, c)
      return not ok and tostring(err)
    end
    assert.equal(("app 'y': the card %s has no queue 'z'"):format(CARD),
      refusal({{id = "x"}}, "z"))
    assert.matches("`queues` is a table with an `id` of its own, not 'x' again",
      refusal({{id = "x"}, {id = "x"}}, "x"))
  end)

  it("have a port each where that isn't a card", function ()
    local c = config.new()
    for _, name in ipairs{"a", "b"} do
      config.app(c, name, intel_mp.Intel, {pciaddr = "ring:both"})
      config.app(c, name .. "_to", Sink)
      config.link(c, ("%s.output -> %s_to.input"):format(name, name))
    end
    config.app(c, "from", Source, {frame(A, B, nil, "there")})
    config.link(c, "from.output -> a.input")
    engine.configure(c)
    engine.main{duration = 0.02, no_report = true}
    assert.same({frame(A, B, nil, "there")}, engine.app_table.b_to.frames)
  end)

  it("come and go while the others run", function ()
    run({a = {intel_mp.Intel, pool(A)}, b = {intel_mp.Intel, pool(B)}}, {})
    local port = engine.app_table["card@fe_02_0/port"]
    run({b = {intel_mp.Intel, pool(B)}}, {})
    assert.equal(port, engine.app_table["card@fe_02_0/port"])
  end)
end)

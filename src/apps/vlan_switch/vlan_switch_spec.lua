-- SPDX-License-Identifier: Apache-2.0

local app = require("core.app")
local config = require("core.config")
local packet = require("core.packet")
local support = require("testing.support")
local testing = require("testing.harness")
local VlanSwitch = require("apps.vlan_switch.vlan_switch").VlanSwitch

local A, B, C, D = "\2\0\0\0\0\1", "\2\0\0\0\0\2", "\2\0\0\0\0\3", "\2\0\0\0\0\4"
local REMOTE, ALL = "\2\0\0\0\0\9", ("\255"):rep(6)
local NAMES = {"trunk", "a", "b", "c", "d"}

local function text(mac)
  return (("%02x:"):rep(6):sub(1, -2)):format(mac:byte(1, 6))
end

local function argument()
  return {trunk = "trunk", ports = {
    {name = "a", vlan = 7, mac = text(A)}, {name = "b", vlan = 7, mac = text(B)},
    {name = "c", vlan = 8, mac = text(C)}, {name = "d", mac = text(D)}}}
end

local function new(arg, names)
  arg = arg or argument()
  arg.timeout, arg.addresses = arg.timeout or 300, arg.addresses or 64
  local s = testing.app(VlanSwitch, arg, names or NAMES, names or NAMES)
  s:link()
  return s
end

local function frame(to, from, rest) return to .. from .. (rest or "\8\0payload") end

local function tagged(vlan, to, from, rest)
  return to .. from .. "\129\0" .. string.char(math.floor(vlan / 256), vlan % 256)
    .. (rest or "\8\0payload")
end

-- Give it the frames from `port`; what each port gets, those that get nothing left out.
local function send(s, port, frames)
  support.send(s.input[port], frames)
  s:push()
  local got = {}
  for name in pairs(s.output) do
    local list = testing.sent(s, name)
    if #list > 0 then got[name] = list end
  end
  return got
end

describe("VlanSwitch", function ()
  it("passes frames between ports of a VLAN, and no others", function ()
    local s = new()
    assert.same({b = {frame(B, A)}}, send(s, "a", {frame(B, A)}))
    assert.same({trunk = {tagged(7, C, A)}}, send(s, "a", {frame(C, A)}))
    assert.same({trunk = {frame(A, D)}}, send(s, "d", {frame(A, D)}))
  end)

  it("sends to the trunk with the VLAN's tag, and takes it off what comes", function ()
    local s = new()
    assert.same({trunk = {tagged(7, REMOTE, A)}}, send(s, "a", {frame(REMOTE, A)}))
    assert.same({trunk = {frame(REMOTE, D)}}, send(s, "d", {frame(REMOTE, D)}))
    assert.same({a = {frame(A, REMOTE)}, c = {frame(C, REMOTE)}, d = {frame(D, REMOTE),
        frame(D, REMOTE)}},
      send(s, "trunk", {tagged(7, A, REMOTE), tagged(8, C, REMOTE), frame(D, REMOTE),
        tagged(0, D, REMOTE), tagged(8, A, REMOTE), tagged(9, A, REMOTE),
        frame(A, REMOTE)}))
    assert.equal(2, testing.count(s, "drop_unknown_mac"))
    assert.equal(1, testing.count(s, "drop_unknown_vlan"))
  end)

  it("takes a provider's tag for a tag, wherever it comes from", function ()
    local s = new()
    local from_outside = D .. REMOTE .. "\136\168\0\7\8\0payload"
    assert.same({}, send(s, "trunk", {from_outside}))
    assert.equal(1, testing.count(s, "drop_unknown_vlan"))
    assert.same({}, send(s, "d", {REMOTE .. D .. "\136\168\0\7\8\0payload"}))
    assert.equal(1, testing.count(s, "drop_tagged"))
  end)

  it("keeps priority and frames in the order they came", function ()
    local s, frames, expected = new(), {}, {}
    for i = 1, 600 do
      frames[i] = frame(i % 3 == 0 and REMOTE or B, A, "\8\0" .. i)
      if i % 3 ~= 0 then expected[#expected + 1] = frames[i] end
    end
    local got = send(s, "a", frames)
    assert.same(expected, got.b)
    assert.equal(200, #got.trunk)
    -- The tag's upper bits aren't the VLAN.
    local high = A .. REMOTE .. "\129\0\240\7\8\0x"
    assert.same({a = {frame(A, REMOTE, "\8\0x")}}, send(s, "trunk", {high}))
  end)

  it("sends frames for groups to all of the VLAN", function ()
    local s = new()
    local group = "\51\51\0\0\0\1"
    assert.same({b = {frame(ALL, A), frame(group, A)}, trunk = {tagged(7, ALL, A),
      tagged(7, group, A)}}, send(s, "a", {frame(ALL, A), frame(group, A)}))
    assert.same({a = {frame(ALL, REMOTE)}, b = {frame(ALL, REMOTE)}},
      send(s, "trunk", {tagged(7, ALL, REMOTE)}))
    assert.same({d = {frame(ALL, REMOTE)}}, send(s, "trunk", {frame(ALL, REMOTE)}))
    assert.equal(4, testing.count(s, "flooded"))
  end)

  it("drops the rest by name, and loses no packet", function ()
    local s = new()
    assert.same({}, send(s, "a", {"", A .. A .. "x", frame(A, A)}))
    assert.same({}, send(s, "d", {tagged(7, A, D), D .. D .. "\136\168\0\7\8\0"}))
    assert.same({}, send(s, "trunk", {A .. REMOTE .. "\129\0\0"}))
    -- In a VLAN of its own a port may send tags: they stay inside it.
    local inner = tagged(8, B, A)
    assert.same({b = {inner}}, send(s, "a", {inner}))
    assert.same({trunk = {tagged(7, C, A, inner:sub(13))}},
      send(s, "a", {tagged(8, C, A)}))
    assert.same({}, send(s, "a", {frame(REMOTE, A, ("x"):rep(10240 - 12))}))
    assert.same({b = {frame(ALL, A, ("x"):rep(10240 - 12))}},
      send(s, "a", {frame(ALL, A, ("x"):rep(10240 - 12))}))
    local counts = {}
    for name in pairs(VlanSwitch.shm) do
      -- The engine adds `dtime`, if it has run the class.
      if name ~= "dtime" then counts[name] = testing.count(s, name) end
    end
    assert.same({flooded = 1, drop_short = 3, drop_own_port = 1, drop_tagged = 2,
      drop_oversize = 2, drop_unknown_vlan = 0, drop_unknown_mac = 0}, counts)
  end)

  it("learns addresses where a port has none", function ()
    local s = new{trunk = "trunk", ports = {{name = "a", vlan = 7, mac = text(A)},
      {name = "b", vlan = 7}, {name = "c", vlan = 7}, {name = "d", vlan = 8}}}
    -- Not known: to those it may be behind.
    assert.same({b = {frame(B, A)}, c = {frame(B, A)}, trunk = {tagged(7, B, A)}},
      send(s, "a", {frame(B, A)}))
    assert.same({a = {frame(A, B)}}, send(s, "b", {frame(A, B)}))
    assert.same({b = {frame(B, A)}}, send(s, "a", {frame(B, A)}))
    send(s, "trunk", {tagged(7, A, REMOTE)})
    assert.same({trunk = {tagged(7, REMOTE, A)}}, send(s, "a", {frame(REMOTE, A)}))
    -- An address that is configured doesn't move.
    send(s, "c", {frame(B, A)})
    assert.equal("a", s:port_of(7, text(A)))
    -- One that was learned does, and is forgotten.
    send(s, "c", {frame(A, B)})
    assert.equal("c", s:port_of(7, text(B)))
    s.addresses:set_now(s.addresses:now() + 301)
    assert.is_nil(s:port_of(7, text(B)))
    assert.equal("a", s:port_of(7, text(A)))
  end)

  it("has room for more addresses than it aimed at, then the newest", function ()
    local s = new({addresses = 1, ports = {{name = "a"}, {name = "b"}}}, {"a", "b"})
    send(s, "b", {frame(REMOTE, B), frame(REMOTE, B)}) -- in use
    local frames = {}
    for i = 1, 256 do frames[i] = frame(REMOTE, "\2\0\0\0\1"
      .. string.char(i % 256)) end
    assert.equal(256, #send(s, "a", frames).b)
    assert.same({a = {frame("\2\0\0\0\1\200", B)}},
      send(s, "b", {frame("\2\0\0\0\1\200", B)}))
    assert.equal("b", s:port_of(0, text(B)))
    assert.equal("a", s:port_of(0, "02:00:00:00:01:00")) -- the last
    assert.is_nil(s:port_of(0, "02:00:00:00:01:05"))
    assert.equal(4, (s.addresses:count()))
  end)

  it("refuses arguments that can't be", function ()
    local function said(arg)
      arg.timeout, arg.addresses = arg.timeout or 300, arg.addresses or 64
      local ok, err = pcall(VlanSwitch.new, VlanSwitch, arg)
      assert.is_false(ok)
      return tostring(err)
    end
    assert.matches("two ports 'x'", said{ports = {{name = "x"}, {name = "x"}}})
    assert.matches("two ports 't'", said{trunk = "t", ports = {{name = "t"}}})
    assert.matches("from 0 to 4094, not '4095'", said{ports = {{name = "x",
      vlan = 4095}}})
    assert.matches("'2:3' is no MAC", said{ports = {{name = "x", mac = "2:3"}}})
    assert.matches("a group", said{ports = {{name = "x", mac = "01:00:00:00:00:01"}}})
    assert.matches("another port of VLAN 0 has the address", said{ports = {
      {name = "x", mac = text(A)}, {name = "y", mac = text(A)}}})
    assert.matches("timeout is a whole number", said{timeout = 0, ports = {}})
  end)

  it("reads and writes nothing outside a frame, and loses none #slow", function ()
    local s = new()
    for port, sample in pairs{trunk = tagged(7, A, REMOTE), d = frame(ALL, D)} do
      assert.equal(0, testing.at_the_edge(s, port, 2000, function ()
        return testing.mutate(sample, math.random(0, 15))
      end))
    end
  end)
end)

describe("VlanSwitch in a graph", function ()
  local Host = {}
  Host.__index = Host
  function Host:new() return setmetatable({got = {}, out = {}}, Host) end
  function Host:pull()
    for _, data in ipairs(self.out) do
      require("core.link").transmit(self.output.output, packet.from_string(data))
    end
    self.out = {}
  end
  function Host:push()
    for _, data in ipairs(support.take(self.input.input)) do
      table.insert(self.got, data)
    end
  end

  local function graph(arg, names)
    local c = config.new()
    config.app(c, "switch", VlanSwitch, arg)
    for _, name in ipairs(names) do
      config.app(c, name, Host)
      config.link(c, ("%s.output -> switch.%s"):format(name, name))
      config.link(c, ("switch.%s -> %s.input"):format(name, name))
    end
    return c
  end

  after_each(function () app.configure(config.new()) end)

  it("gets other ports while it runs, and keeps what waits", function ()
    app.configure(graph(argument(), NAMES))
    local first = app.app_table.switch
    local arg = argument()
    arg.ports[5] = {name = "e", vlan = 7, mac = text(REMOTE)}
    arg.ports[1].vlan = 8
    require("core.link").transmit(app.app_table.a.output.output,
      packet.from_string(frame(C, A)))
    app.configure(graph(arg, {"trunk", "a", "b", "c", "d", "e"}))
    assert.equal(first, app.app_table.switch)
    app.app_table.b.out = {frame(REMOTE, B)}
    app.breathe()
    app.breathe()
    assert.same({frame(C, A)}, app.app_table.c.got)
    assert.same({frame(REMOTE, B)}, app.app_table.e.got)
    app.configure(graph(argument(), NAMES))
    app.app_table.b.out = {frame(REMOTE, B)}
    app.breathe()
    assert.same({tagged(7, REMOTE, B)}, app.app_table.trunk.got)
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
-- Both bridges against a model: a table of where addresses were last seen.

local ffi = require("ffi")
local app = require("core.app")
local config = require("core.config")
local link = require("core.link")
local packet = require("core.packet")

local SEED = os.time()
local PORTS = {"a", "b", "c1", "c2", "d1", "d2"}
local GROUP_OF = {c1 = "c", c2 = "c", d1 = "d", d2 = "d"}
local ARGUMENT = {ports = {"a", "b"},
  split_horizon_groups = {c = {"c1", "c2"}, d = {"d1", "d2"}}}

local Host = {}
Host.__index = Host
function Host:new() return setmetatable({out = {}, got = {}}, Host) end
function Host:pull()
  for _, frame in ipairs(self.out) do
    link.transmit(self.output.output, packet.from_string(frame))
  end
  self.out = {}
end
function Host:push()
  for _ = 1, link.nreadable(self.input.input) do
    local p = link.receive(self.input.input)
    table.insert(self.got, ffi.string(p.data, p.length))
    packet.free(p)
  end
end

local function start(kind, conf)
  local c = config.new()
  config.app(c, "bridge", require("apps.bridge." .. kind).bridge, conf or ARGUMENT)
  for _, port in ipairs(PORTS) do
    config.app(c, port, Host)
    config.link(c, ("%s.output -> bridge.%s"):format(port, port))
    config.link(c, ("bridge.%s -> %s.input"):format(port, port))
  end
  app.configure(c)
end

local function mac(n) return "\2\0\0\0\0" .. string.char(n) end

local function frame(to, from, text) return to .. from .. "\8\0" .. text end

-- Send (port, frame) pairs in a breath each; what each port gets, in order.
local function send(list)
  for _, port in ipairs(PORTS) do app.app_table[port].got = {} end
  for _, item in ipairs(list) do
    table.insert(app.app_table[item[1]].out, item[2])
    app.breathe()
  end
  local got = {}
  for _, port in ipairs(PORTS) do got[port] = app.app_table[port].got end
  return got
end

local function may_go(from, to)
  return from ~= to and not (GROUP_OF[from] and GROUP_OF[from] == GROUP_OF[to])
end

-- What the model says that send() gives. `seen` is address -> port, nil to flood.
local function expected(list, seen)
  local got = {}
  for _, port in ipairs(PORTS) do got[port] = {} end
  for _, item in ipairs(list) do
    local from, bytes = unpack(item)
    local known = seen and seen[bytes:sub(1, 6)]
    for _, to in ipairs(PORTS) do
      if may_go(from, to) and (not known or known == to) then
        table.insert(got[to], bytes)
      end
    end
    local source = bytes:sub(7, 12)
    if seen and source:byte() % 2 == 0 then seen[source] = from end
  end
  return got
end

local function random_traffic(n)
  local list = {}
  for i = 1, n do
    local to, from = mac(math.random(12)), mac(math.random(12))
    if math.random(10) == 1 then to = "\255\255\255\255\255\255" end
    if math.random(10) == 1 then to = "\0\0\0\0\0\0" end
    if math.random(10) == 1 then from = "\1" .. from:sub(2) end
    if math.random(10) == 1 then from = "\0\0\0\0\0\0" end
    list[i] = {PORTS[math.random(#PORTS)], frame(to, from, tostring(i))}
  end
  return list
end

describe("a bridge", function ()
  before_each(function () math.randomseed(SEED) end)
  after_each(function () app.configure(config.new()) end)

  it("floods, but not within a split-horizon group", function ()
    start("flooding")
    local list = random_traffic(300)
    assert.same(expected(list), send(list))
  end)

  it("that learns agrees with the model", function ()
    start("learning")
    local list, seen = random_traffic(1500), {}
    assert.same(expected(list, seen), send(list), "of seed " .. SEED)
  end)

  it("sends bursts like single packets", function ()
    start("learning")
    send{{"b", frame(mac(1), mac(2), "")}, {"c1", frame(mac(1), mac(3), "")}}
    local out = app.app_table.a.out
    local to = {mac(2), mac(3), mac(2), mac(9), mac(2), mac(1)}
    for i = 1, 300 do out[i] = frame(to[i % #to + 1], mac(1), tostring(i)) end
    local frames = {unpack(out)}
    send{}
    app.breathe()
    local got = app.app_table.b.got
    local b = {}
    for _, bytes in ipairs(frames) do
      if bytes:sub(1, 6) == mac(2) then b[#b + 1] = bytes end
    end
    local unicast = {}
    for _, bytes in ipairs(got) do
      if bytes:sub(1, 6) == mac(2) then unicast[#unicast + 1] = bytes end
    end
    assert.same(b, unicast)
    assert.equal(50, #app.app_table.d1.got) -- to mac(9), which nobody has
    assert.equal(50, #got - #unicast)
  end)

  it("knows who is in use while a burst of strangers fills the table", function ()
    start("learning", {ports = {"a", "b", "c1", "c2", "d1", "d2"},
                       config = {mac_table = {size = 1}}}) -- room for 8
    local from_b = {"b", frame(mac(9), mac(2), "")}
    send{from_b, from_b}
    send{}
    local out = app.app_table.a.out
    for i = 1, 300 do
      out[i] = frame(mac(2), "\2\0\0\1" .. string.char(i / 256, i % 256), tostring(i))
    end
    local frames = {unpack(out)}
    app.breathe()
    app.breathe()
    assert.same(frames, app.app_table.b.got)
    assert.same({}, app.app_table.c1.got)
    assert.equal(8, app.app_table.bridge._mac_table:info().entries)
  end)

  it("drops frames without addresses, and counts", function ()
    start("learning")
    local got = send{{"a", "\2"}, {"a", ("x"):rep(13)}, {"a", ""}}
    for _, port in ipairs(PORTS) do assert.same({}, got[port]) end
    local shm = app.app_table.bridge.shm
    assert.equal(3, tonumber(shm.discarded.c))
    send{{"a", frame(mac(1), mac(2), "")}}
    assert.equal(1, tonumber(shm.flooded.c))
  end)

  it("forgets addresses in time, and follows them", function ()
    start("learning", {ports = {"a", "b", "c1", "c2", "d1", "d2"},
                       config = {mac_table = {timeout = 100}}})
    local fdb = app.app_table.bridge._mac_table._fdb
    send{{"b", frame(mac(9), mac(2), "")}}
    local to_b = {"a", frame(mac(2), mac(1), "x")}
    assert.equal(0, #send{to_b}.d1)
    for n in fdb:each() do fdb.flows.record[n].age.expiry = fdb:now() - 1 end
    assert.equal(1, #send{to_b}.d1)
    send{{"d1", frame(mac(9), mac(2), "")}}
    local got = send{to_b}
    assert.equal(1, #got.d1)
    assert.equal(0, #got.b)
  end)

  it("works with ports that aren't linked", function ()
    for _, kind in ipairs{"flooding", "learning"} do
      local c = config.new()
      config.app(c, "bridge", require("apps.bridge." .. kind).bridge, ARGUMENT)
      config.app(c, "c1", Host)
      config.app(c, "c2", Host)
      for _, port in ipairs{"c1", "c2"} do
        config.link(c, ("%s.output -> bridge.%s"):format(port, port))
      end
      app.configure(c)
      app.app_table.c1.out = {frame(mac(1), mac(2), "")}
      app.app_table.c2.out = {frame(mac(2), mac(1), "")}
      app.breathe()
      assert.equal(2, tonumber(link.stats(app.link_table["c1.output -> bridge.c1"])
        .rxpackets + link.stats(app.link_table["c2.output -> bridge.c2"]).rxpackets))
      app.configure(config.new())
    end
  end)

  it("refuses a port that is listed twice", function ()
    local base = require("apps.bridge.flooding").bridge
    local ok, err = pcall(base.new, base, {ports = {"a"},
      split_horizon_groups = {g = {"a"}}})
    assert.is_false(ok)
    assert.matches("port 'a' is listed twice", tostring(err))
    assert.has_error(function ()
      local abstract = require("apps.bridge.base").bridge
      abstract:new{ports = {}}
    end)
  end)
end)

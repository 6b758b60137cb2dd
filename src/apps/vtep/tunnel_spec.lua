-- SPDX-License-Identifier: Apache-2.0
-- Tunnels that change while they run, and what they count.

local ffi = require("ffi")
local C = require("core.declare")("apps/vtep/vtep.h")
local Host = require("apps.vtep.host").Host
local failure = require("core.failure")
local Remotes = require("apps.vtep.remotes")
local addresses = require("net.address.address")
local settings = require("apps.vtep.settings")
local state = require("apps.vtep.state")
local Tunnel = require("apps.vtep.tunnel")
local testing = require("testing.vtep")

local MAC = "02:00:00:00:00:0"

local function argument(changes)
  local arg = {
    address = "192.0.2.1/24", mac = MAC .. "1", vnis = {[42] = 0, [43] = 10}, seed = 1,
    remotes = {{address = "192.0.2.2", mac = MAC .. "2"},
               {address = "192.0.2.3", mac = MAC .. "3"}},
  }
  for key, value in pairs(changes or {}) do arg[key] = value end
  return arg
end

-- The tunnel's Host, with counters of its own.
local function host_of(tunnel)
  local host = Host:new(tunnel)
  for name in pairs(host.shm) do host.shm[name] = ffi.new("struct counter") end
  return host
end

-- Let the tunnel learn, as its Host would, that a MAC address is behind a remote.
local function learn(tunnel, vni, mac, address)
  local host = host_of(tunnel)
  local digest = tunnel.digest
  digest.of[0].key = Tunnel.key(addresses.mac(mac), tunnel.vnis.number[vni])
  digest.of[0].uncounted = 0
  ffi.copy(digest.of[0].from, (addresses.ip(address)))
  digest.n = 1
  host:learn_all()
end

-- The forwarding table as text: "VNI MAC's last byte REMOTE" each.
local function entries(tunnel)
  local texts = {}
  for i, entry in ipairs(state.entries(tunnel)) do
    texts[i] = ("%d %s %s%s"):format(entry.vni, entry.mac:sub(-2),
      entry.remote:match("[^.]*$"), entry.static and " static" or "")
  end
  return texts
end

describe("a tunnel that changes", function ()
  local tunnel

  before_each(function ()
    tunnel = Tunnel.new(argument())
    learn(tunnel, 42, MAC .. "8", "192.0.2.2")
    learn(tunnel, 42, MAC .. "9", "192.0.2.3")
    learn(tunnel, 43, MAC .. "8", "192.0.2.3")
    learn(tunnel, 43, MAC .. "a", "192.0.2.7")
  end)

  it("keeps what it learned of VNIs and remotes that stay", function ()
    local all = {"42 08 2", "42 09 3", "43 08 3", "43 0a 7"}
    assert.same(all, entries(tunnel))
    tunnel:update(argument())
    assert.same(all, entries(tunnel))
    tunnel:update(argument{vnis = {[7] = 5, [42] = 11, [43] = 10},
      remotes = {{address = "192.0.2.9", mac = MAC .. "b"}, "192.0.2.3",
                 {address = "192.0.2.2", mac = MAC .. "2"}}})
    assert.same(all, entries(tunnel))
    tunnel:update(argument{vnis = {[43] = 10}})
    assert.same({"43 08 3", "43 0a 7"}, entries(tunnel))
    tunnel:update(argument{vnis = {[43] = 10},
                           remotes = {{address = "192.0.2.2", mac = MAC .. "2"}}})
    assert.same({"43 0a 7"}, entries(tunnel))
    tunnel:update(argument{vnis = {[44] = 10}})
    assert.same({}, entries(tunnel))
    assert.is_nil(tunnel.remotes.number[addresses.ip("192.0.2.7")])
  end)

  it("sends as the new settings say", function ()
    local frame = ("\2"):rep(5) .. "\7" .. ("\2"):rep(6) .. "\8\0" .. ("x"):rep(46)
    local function to()
      local out, why = testing.encapsulate(tunnel, frame)
      return out and {out:byte(34), out:byte(49)} or why
    end
    assert.equal("flood", to())
    tunnel:update(argument{vnis = {[9] = 0},
                           remotes = {{address = "192.0.2.4", mac = MAC .. "4"}}})
    assert.same({4, 9}, to())
    tunnel:update(argument{remotes = {"192.0.2.4"}})
    assert.equal("unresolved", to())
    tunnel.remotes:resolved(addresses.ip("192.0.2.4"), addresses.mac(MAC .. "4"))
    assert.same({4, 42}, to())
    tunnel:update(argument{vnis = {[43] = 10}})
    assert.equal("unknown_vlan", to())
  end)

  it("changes VNIs many times, and never mixes their numbers up #slow", function ()
    math.randomseed(3)
    for _ = 1, 200 do
      local vnis = {}
      for _ = 1, math.random(1, 30) do vnis[math.random(0, 40) * 1000] = false end
      local vlan = 0
      for vni in pairs(vnis) do
        vnis[vni] = vlan
        vlan = vlan + 1
      end
      tunnel:update(argument{vnis = vnis})
      local own, seen = tunnel.own, {}
      for vni = 0, 40000, 500 do
        local number = own.leaf[own.page[math.floor(vni / 4096)] + vni % 4096]
        assert.equal(vnis[vni] and true or false, number ~= 0)
        if number ~= 0 then
          assert.equal(vni, tunnel.vnis.array[number].vni)
          assert.equal(number, tunnel.vnis.by_vlan[vnis[vni]])
          assert.is_nil(seen[number])
          seen[number] = true
        end
      end
    end
  end)

  it("takes static entries, also over learned ones, and gives them up", function ()
    local static = {{vni = 42, mac = MAC .. "8", remote = "192.0.2.3"},
                    {vni = 43, mac = MAC .. "c", remote = "192.0.2.8"}}
    tunnel:update(argument{static = static})
    assert.same({"42 08 3 static", "42 09 3", "43 08 3", "43 0a 7", "43 0c 8 static"},
      entries(tunnel))
    local two = tunnel.remotes.number[addresses.ip("192.0.2.2")]
    assert.equal(0, tunnel.remotes.uses[two])
    tunnel:update(argument{static = {static[1]}})
    assert.same({"42 08 3 static", "42 09 3", "43 08 3", "43 0a 7"}, entries(tunnel))
    assert.is_nil(tunnel.remotes.number[addresses.ip("192.0.2.8")])
    tunnel:update(argument())
    assert.same({"42 09 3", "43 08 3", "43 0a 7"}, entries(tunnel))
  end)

  it("says which static entry has no room, and does the rest", function ()
    tunnel = Tunnel.new(argument{capacity = 1})
    for _ = 1, 2 do learn(tunnel, 42, MAC .. "8", "192.0.2.2") end -- in use
    local problem = tunnel:update(argument{capacity = 1, vnis = {[42] = 0, [9] = 7},
      static = {{vni = 42, mac = MAC .. "e", remote = "192.0.2.3"}}})
    assert.equal("there is no room for the static entry of " .. MAC .. "e; let "
      .. "capacity be more than 1", problem)
    assert.same({"42 08 2"}, entries(tunnel))
    assert.is_number(tunnel.vnis.number[9])
    assert.is_nil(tunnel:update(argument{capacity = 1}))
  end)

  it("makes room for remotes that are named", function ()
    tunnel = Tunnel.new(argument{max_remotes = 3})
    learn(tunnel, 42, MAC .. "a", "192.0.2.7")
    tunnel:update(argument{max_remotes = 3, remotes = {"192.0.2.2", "192.0.2.3",
                                                       "192.0.2.4"}})
    assert.same({}, entries(tunnel))
    assert.equal(3, (tunnel.remotes:count()))
    assert.is_nil(tunnel.remotes.number[addresses.ip("192.0.2.7")])
  end)

  it("changes nothing where something is wrong, or can't change", function ()
    for part, changes in pairs{
      ["needs a VNI"] = {vnis = {}}, ["is a number, not 'x'"] = {mtu = "x"},
      ["mtu can't change while it runs (from '1500' to '9000')"] =
        {mtu = 9000, vnis = {[1] = 0}},
      ["address can't change while it runs (from '192.0.2.1' to"] =
        {address = "192.0.2.5/24", remotes = {}},
      ["mac can't change"] = {mac = MAC .. "b"},
      ["gateway can't change while it runs (from nothing to '192.0.2.254')"] =
        {gateway = "192.0.2.254"},
    } do
      local ok, err = pcall(tunnel.update, tunnel, argument(changes))
      assert.is_false(ok)
      assert(failure.is(err), tostring(err))
      assert.matches(part, tostring(err), 1, true)
      assert.equal(4, #entries(tunnel))
      assert.equal(2, #tunnel.settings.vnis)
    end
  end)

  it("takes nothing in of a VNI that has gone meanwhile", function ()
    local number = tunnel.vnis.number[43]
    tunnel:update(argument{vnis = {[42] = 0}})
    tunnel.vnis.number[43] = number -- as the digest may still have it
    learn(tunnel, 43, MAC .. "d", "192.0.2.2")
    assert.equal(2, (tunnel.fdb:count()))
  end)

  it("is strict from then on", function ()
    tunnel:update(argument{strict = true})
    assert.equal(1, tunnel.own.strict)
    tunnel:update(argument())
    assert.equal(0, tunnel.own.strict)
  end)
end)

describe("apps.vtep.remotes", function ()
  it("are found by address as in a table of Lua's, whatever comes #slow", function ()
    math.randomseed(5)
    for _, own in ipairs{"192.0.2.1/16", "2001:db8::1/64"} do
      local s = settings.check{address = own, mac = MAC .. "1", vnis = {[1] = 0},
                               max_remotes = 60}
      local remotes, present = Remotes.new(s, 4), {}
      local words = ffi.new("int32_t[4]")
      local function address()
        local n = math.random(2, 250)
        return (addresses.ip(s.family == 4 and "192.0.3." .. n or "2001:db8::" .. n))
      end
      for _ = 1, 20000 do
        local a = address()
        if present[a] then
          remotes:release(present[a])
          present[a] = nil
        else
          present[a] = remotes:add(a, nil, true)
        end
        local looked = address()
        ffi.fill(words, 16)
        ffi.copy(words, looked, #looked)
        assert.equal(present[looked] or 0, C.pg_remote_find(remotes.index, words))
      end
    end
  end)
end)

describe("the counts of a tunnel", function ()
  local FRAME = ("\2"):rep(12) .. "\8\0" .. ("x"):rep(46)
  local BYTES = #FRAME

  it("are those of VNIs and of remotes", function ()
    local one = Tunnel.new(argument{remotes = {{address = "192.0.2.2",
                                                mac = MAC .. "2"}}})
    local two = Tunnel.new(argument{address = "192.0.2.2/24", mac = MAC .. "2",
      remotes = {}})
    local sent = testing.encapsulate(one, FRAME)
    local tagged = FRAME:sub(1, 12) .. "\129\0\0\10" .. FRAME:sub(13)
    for _ = 1, 2 do assert(testing.encapsulate(one, tagged)) end
    local function packets(n) return {packets = n, bytes = n * BYTES} end
    local vnis, remotes = state.vnis(one), state.remotes(one)
    assert.same({vni = 42, vlan = 0, encapsulated = packets(1), flooded = packets(1),
                 decapsulated = packets(0)}, vnis[1])
    assert.same(packets(2), vnis[2].encapsulated)
    assert.same({packets(3), packets(3)}, {remotes[1].encapsulated, remotes[1].flooded})
    -- The first is from a stranger: Host counts it when it has learned who that is.
    for _ = 1, 3 do assert(testing.decapsulate(two, sent)) end
    assert.same(packets(3), state.vnis(two)[1].decapsulated)
    assert.equal(3, two.digest.n)
    host_of(two):learn_all()
    assert(testing.decapsulate(two, sent))
    remotes = state.remotes(two)
    assert.same({"192.0.2.1", false, packets(4)},
      {remotes[1].address, remotes[1].named, remotes[1].decapsulated})
  end)

  it("of what is gone are kept together", function ()
    local tunnel = Tunnel.new(argument{remotes = {{address = "192.0.2.2",
                                                   mac = MAC .. "2"}}})
    assert(testing.encapsulate(tunnel, FRAME))
    tunnel:update(argument{vnis = {[7] = 0}, remotes = {}})
    local gone = state.gone(tunnel)
    assert.same({1, 1}, {gone.vnis.encapsulated.packets,
                         gone.remotes.encapsulated.packets})
    assert.equal(0, state.vnis(tunnel)[1].encapsulated.packets)
  end)
end)

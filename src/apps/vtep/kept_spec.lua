-- SPDX-License-Identifier: Apache-2.0
local addresses = require("net.address.address")
local engine = require("core.app")
local ffi = require("ffi")
local going_on = require("net.keep.going_on")
local Host = require("apps.vtep.host").Host
local keep = require("net.keep.keep")
local kept = require("testing.kept")
local outside = require("core.outside.visitors")
local stderr = require("testing.stderr")
local testing = require("testing.vtep")

local MAC = "\2\0\0\0\1"

-- A Host, with what is kept of it from now on.
local function started(...)
  local host = Host:new(testing.tunnel(...))
  for name in pairs(host.shm) do host.shm[name] = ffi.new("struct counter") end
  for _, item in ipairs(host:kept_state()) do keep.records(item) end
  return host
end

local function learn(host, n, vni, from)
  local tunnel = host.tunnel
  local number = assert(tunnel.remotes:add(from))
  tunnel.fdb:learn(tunnel.key(MAC .. string.char(n), tunnel.vnis.number[vni]), number)
  tunnel.remotes:use(number, 1)
end

-- At which remote's address an address is; nil.
local function place(host, n, vni)
  local tunnel = host.tunnel
  local number = tunnel.vnis.number[vni]
  local remote = tunnel.fdb:port(tunnel.key(MAC .. string.char(n), number))
  return remote and tunnel.remotes.address[remote]
end

-- Every remote has as many entries as it says, or is one of the settings'.
local function is_sound(host)
  local remotes, uses = host.remotes, {}
  for number in host.fdb:each() do
    local remote, static = host.fdb:entry(number)
    assert.truthy(remotes.address[remote])
    if not static then uses[remote] = (uses[remote] or 0) + 1 end
  end
  for n in pairs(remotes.address) do
    assert.equal(uses[n] or 0, remotes.uses[n])
    assert.truthy(remotes.fixed[n] or uses[n])
  end
end

describe("A tunnel end point that outlives the process", function ()
  before_each(kept.set_up)
  after_each(kept.tear_down)

  local FAR = "\192\0\2\200"
  local vni = testing.tunnel().settings.vnis[1].vni

  it("goes on with what it has learned, also of remotes it has learned of", function ()
    local host = started()
    local known = next(host.remotes.number)
    learn(host, 1, vni, FAR)
    learn(host, 2, vni, known)
    host.neighbours:heard(FAR, MAC .. "\99", engine.now())
    kept.again()
    local host2 = started()
    assert.equal(FAR, place(host2, 1, vni))
    assert.equal(known, place(host2, 2, vni))
    assert.equal(1, host2.remotes.array[host2.remotes.number[FAR]].ready)
    is_sound(host2)
    local told = stderr.told()
    assert.truthy(told:find("forwarding entries goes on with 2 of 2 records", 1, true),
      told)
    assert.truthy(told:find("neighbours goes on with 1 of 1 records", 1, true), told)
    -- And a remote that goes has no name any more.
    local tunnel = host2.tunnel
    tunnel.fdb:remove(tunnel.key(MAC .. "\1", tunnel.vnis.number[vni]))
    host2.remotes:use(host2.remotes.number[FAR], -1)
    kept.again()
    assert.is_nil(started().remotes.number[FAR])
  end)

  it("finds what it has learned before all is there, also if it is killed meanwhile",
    function ()
      local few = going_on.FEW
      finally(function () going_on.FEW = few end)
      going_on.FEW = 0
      local function far(i) return "\192\0\2" .. string.char(200 + i % 3) end
      local host = started()
      for i = 1, 60 do learn(host, i, vni, far(i)) end
      kept.again()
      local host2 = started()
      assert.equal(0, host2.fdb:count())
      for i = 1, 6 do assert.equal(far(i), place(host2, i, vni)) end
      assert.equal(6, host2.fdb:count())
      -- Entries that wait need their remotes, also if these have no other entry.
      local tunnel = host2.tunnel
      for i = 1, 6 do
        tunnel.let_go(tunnel.fdb:remove(tunnel.key(MAC .. string.char(i),
          tunnel.vnis.number[vni])))
      end
      learn(host2, 100, vni, "\192\0\2\210")
      kept.again()
      local host3 = started()
      for i = 7, 30 do assert.equal(far(i), place(host3, i, vni)) end
      local items = host3:kept_state() -- as after other settings
      for _, item in ipairs(items) do keep.records(item) end
      stderr.keep()
      repeat outside.tend(0) until not host3.tunnel.held
      for i = 7, 60 do assert.equal(far(i), place(host3, i, vni)) end
      assert.equal("\192\0\2\210", place(host3, 100, vni))
      assert.is_nil(place(host3, 1, vni))
      is_sound(host3)
    end)

  for _, few in ipairs{going_on.FEW, 0} do
    it(("goes on with the ages of entries, %d at once"):format(few), function ()
      local most = going_on.FEW
      finally(function () going_on.FEW = most end)
      going_on.FEW = few
      local function seen_at(host)
        local times = {}
        for number in host.fdb:each() do
          local _, _, key, seen = host.fdb:entry(number)
          times[tostring(key)] = seen
        end
        return times
      end
      local host = started()
      local now = host.tunnel.fdb:now()
      for i = 1, 40 do
        host.tunnel.fdb:set_now(now - 5 * i)
        learn(host, i, vni, FAR)
        if i % 3 == 0 then learn(host, i, vni, FAR) end -- seen twice
      end
      local before = seen_at(host)
      kept.again()
      local host2 = started()
      repeat outside.tend(0) until not going_on.is_at_work()
      assert.same(before, seen_at(host2))
      for i = 40, 2, -1 do -- each is forgotten by itself
        host2.fdb:set_now(now - 5 * i + host2.settings.ageing + 1)
        assert.is_nil(place(host2, i, vni))
        assert.equal(FAR, place(host2, i - 1, vni))
      end
    end)
  end

  it("finds a next hop when a packet is for it, or by and by", function ()
    local few = going_on.FEW
    finally(function () going_on.FEW = few end)
    going_on.FEW = 0
    local function far(i) return "\192\0\2" .. string.char(100 + i) end
    local host = started()
    for i = 1, 50 do
      learn(host, i, vni, far(i))
      host.neighbours:heard(far(i), MAC .. string.char(i), engine.now())
    end
    kept.again()
    local host2 = started()
    local remotes, cache = host2.remotes, host2.neighbours.cache
    assert.equal(0, cache.count) -- none was read
    local n = remotes.number[far(7)]
    assert.is_true(remotes:find_out(n))
    assert.equal(MAC .. "\7", ffi.string(remotes.array[n].header, 6))
    assert.equal(1, cache.count)
    assert.is_false(remotes:find_out(assert(remotes:add("\192\0\2\250"))))
    repeat outside.tend(0) until not going_on.is_at_work()
    assert.is_nil(remotes.recall)
    for i = 1, 50 do
      assert.equal(1, remotes.array[remotes.number[far(i)]].ready)
    end
  end)

  it("has all at once where a VNI or a remote has another number", function ()
    local few = going_on.FEW
    finally(function () going_on.FEW = few end)
    going_on.FEW = 0
    local host = started()
    learn(host, 1, vni, FAR)
    learn(host, 2, vni, FAR)
    host.tunnel.vnis.named(host.tunnel.vnis.number[vni], nil)
    host.tunnel.vnis.named(77, vni)
    host.tunnel.fdb:learn(host.tunnel.key(MAC .. "\3", 77),
      host.remotes.number[FAR])
    host.remotes:use(host.remotes.number[FAR], 1)
    kept.again()
    local host2 = started()
    assert.equal(1, host2.fdb:count())
    assert.equal(FAR, place(host2, 3, vni))
    is_sound(host2)
  end)

  it("has the same VNI by another number, or has it no more", function ()
    local host = started()
    learn(host, 1, vni, FAR)
    host.tunnel.vnis.named(host.tunnel.vnis.number[vni], vni + 1)
    kept.again()
    local host2 = started()
    assert.is_nil(place(host2, 1, vni))
    is_sound(host2)
    assert.truthy(stderr.told():find("1 of a VNI that is gone", 1, true))
  end)

  for _, of in ipairs{"remotes", "forwarding entries", "neighbours"} do
    it("believes no file of " .. of, function ()
      local host = started()
      for i = 1, 20 do learn(host, i, vni, "\192\0\2" .. string.char(100 + i)) end
      host.neighbours:heard("\192\0\2\101", MAC .. "\99", engine.now())
      for name in pairs(host.remotes.waiting) do
        host.neighbours:heard(name, MAC .. "\98", engine.now())
      end
      kept.mutate(of, kept.MUTANTS / 25, function ()
        local host2 = started()
        is_sound(host2)
        for n in pairs(host2.remotes.address) do
          assert.truthy(addresses.is_unicast(host2.remotes.address[n]))
        end
      end)
    end)
  end
end)

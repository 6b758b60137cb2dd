-- SPDX-License-Identifier: Apache-2.0
-- Links against a model that is a queue in Lua, with the cursors set where they
-- wrap: `write` at 2^31, and `read`'s lower half at 2^31 and 2^32.

local counter = require("core.counter")
local link = require("core.link")
local packet = require("core.packet")
local shm = require("core.shm")

local function with_length(n)
  return packet.resize(packet.allocate(), n)
end

-- A link as it is after `n` packets have passed. Its limit is anywhere from
-- `write` to where the link is full.
local function link_after(n)
  local l = link.new("spec")
  l.read, l.write = n, bit.tobit(n)
  l.limit = bit.tobit(n + math.random(0, 1023))
  return l
end

local STARTS = {0, 5, 1023, 2 ^ 31 - 3, 2 ^ 31 - 1, 2 ^ 31, 2 ^ 32 - 600, 2 ^ 32 - 1,
                2 ^ 32, 2 ^ 33 + 2 ^ 31 - 1, 2 ^ 40 - 7}

describe("a link", function ()
  local l
  after_each(function ()
    if l then link.free(l, "spec") end
    l = nil
  end)

  it("is empty when new", function ()
    l = link.new("spec")
    assert.is_true(link.empty(l))
    assert.is_false(link.full(l))
    assert.equal(0, link.nreadable(l))
    assert.equal(1023, link.nwritable(l))
    assert.is_nil(link.front(l))
    assert.equal(1023, link.max)
  end)

  for _, start in ipairs(STARTS) do
    it(("holds 1,023 packets in order after %.0f #slow"):format(start), function ()
      l = link_after(start)
      for round = 1, 3 do
        for i = 1, 1023 do
          assert.is_false(link.full(l))
          link.transmit(l, with_length(i))
          assert.equal(i, link.nreadable(l))
        end
        assert.is_true(link.full(l))
        assert.equal(0, link.nwritable(l))
        link.transmit(l, with_length(99))
        assert.equal(round, tonumber(l.txdrop))
        for i = 1, 1023 do
          local front = link.front(l)
          local p = link.receive(l)
          assert.equal(front, p)
          assert.equal(i, p.length)
          packet.free(p)
        end
        assert.is_true(link.empty(l))
        assert.is_nil(link.front(l))
      end
      local stats = link.stats(l)
      assert.equal(start + 3 * 1023, stats.rxpackets)
      assert.equal(start + 3 * 1023, stats.txpackets)
      assert.equal(3 * 1023 * 1024 / 2, stats.rxbytes)
      assert.equal(3, stats.txdrop)
    end)
  end

  it("frees what it has no room for", function ()
    l = link.new("spec")
    local fl = require("core.pool").freelist
    local frees, bytes = fl.frees, fl.freebytes
    for _ = 1, 1030 do link.transmit(l, with_length(70)) end
    assert.equal(7, tonumber(fl.frees - frees))
    assert.equal(490, tonumber(fl.freebytes - bytes))
    assert.equal(7, link.stats(l).txdrop)
  end)

  it("takes no packet that is none", function ()
    l = link.new("spec")
    for _, what in ipairs{false, 5, {}, "packet"} do
      assert.is_false((pcall(link.transmit, l, what or nil)))
    end
    assert.equal(0, link.nreadable(l))
    -- Where it is compiled, too.
    local p, sent = with_length(60), 0
    local ok, err = pcall(function ()
      for i = 1, 1e4 do
        link.transmit(l, i ~= 9999 and p or nil)
        sent = sent + 1
        link.receive(l)
      end
    end)
    assert.is_false(ok)
    assert.matches("link_spec.lua:%d+: link.transmit: argument 2 is nil; it takes "
      .. "a packet$", err)
    assert.equal(9998, sent)
    packet.free(p)
  end)

  it("counts what waits as transmitted, not as received", function ()
    l = link.new("spec")
    for i = 1, 5 do link.transmit(l, with_length(100 * i)) end
    packet.free(link.receive(l))
    local stats = link.stats(l)
    assert.same({1, 100, 5, 1500, 0}, {stats.rxpackets, stats.rxbytes,
      stats.txpackets, stats.txbytes, stats.txdrop})
  end)

  it("has its counters up to date whenever they are read", function ()
    l = link.new("spec")
    for i = 1, 3 do
      link.transmit(l, with_length(100))
      assert.equal(i, tonumber(counter.read(l.stats.txpackets)))
      assert.equal(100 * i, tonumber(counter.read(l.stats.txbytes)))
    end
    packet.free(link.receive(l))
    assert.equal(1, tonumber(counter.read(l.stats.rxpackets)))
    for _ = 1, 1025 do link.transmit(l, with_length(60)) end
    assert.equal(4, tonumber(counter.read(l.stats.txdrop)))
    assert.has_error(function () return l.packet end, "a link has no field 'packet'")
  end)

  it("counts a packet with the length it has when received", function ()
    l = link.new("spec")
    local p = with_length(100)
    link.transmit(l, p)
    packet.resize(p, 60) -- a sender shouldn't, but the sums must stay equal
    packet.free(link.receive(l))
    local stats = link.stats(l)
    assert.equal(stats.txbytes, stats.rxbytes)
  end)

  it("publishes its counters under its name, and takes them back", function ()
    l = link.new("spec")
    link.transmit(l, with_length(60))
    link.sync(l)
    counter.commit()
    local names = table.concat(shm.children("links/spec"), " ")
    for _, name in ipairs{"rxpackets", "rxbytes", "txpackets", "txbytes", "txdrop",
                          "dtime"} do
      assert.matches(name .. ".counter", names)
    end
    local published = counter.open("links/spec/txpackets.counter")
    assert.equal(1, tonumber(counter.read(published)))
    assert.equal(1, link.free(l, "spec"))
    assert.same({}, shm.children("links/spec"))
    assert.is_true(link.empty(l))
    link.sync(l) -- a freed link has no counters
    l = nil
  end)

  it("frees the packets in it with it, and counts them as freed", function ()
    local fl = require("core.pool").freelist
    local doomed = link_after(2 ^ 32 - 5)
    for _ = 1, 11 do link.transmit(doomed, with_length(60)) end
    local frees = fl.frees
    assert.equal(11, link.free(doomed, "spec"))
    assert.equal(11, tonumber(fl.frees - frees))
  end)
end)

-- Random transmits and receives --------------------------------------------

local function run_model(l, steps)
  local queue, sent, drops, received_bytes = {}, 0, 0, 0
  local base = tonumber(l.read)
  for _ = 1, steps do
    local n = math.random(3) == 1 and math.random(0, 1100) or math.random(0, 40)
    if math.random(2) == 1 then
      for _ = 1, n do
        sent = sent + 1
        local p = with_length(sent % 1500)
        if #queue == 1023 then drops = drops + 1 else queue[#queue + 1] = p.length end
        link.transmit(l, p)
      end
    else
      for _ = 1, math.min(n, link.nreadable(l)) do
        local p = link.receive(l)
        received_bytes = received_bytes + p.length
        if p.length ~= table.remove(queue, 1) then error("out of order") end
        packet.free(p)
      end
    end
    assert.equal(#queue, link.nreadable(l))
    assert.equal(1023 - #queue, link.nwritable(l))
    assert.equal(#queue == 0, link.empty(l))
    assert.equal(#queue == 1023, link.full(l))
  end
  local waiting = 0
  for _, length in ipairs(queue) do waiting = waiting + length end
  local stats = link.stats(l)
  assert.same({sent - drops, drops, sent - drops - #queue, received_bytes,
               received_bytes + waiting},
    {stats.txpackets - base, stats.txdrop, stats.rxpackets - base, stats.rxbytes,
     stats.txbytes})
end

describe("random transmits and receives", function ()
  local seed = os.time()
  for _, start in ipairs(STARTS) do
    it(("agree with a queue after %.0f (seed %d)"):format(start, seed), function ()
      math.randomseed(seed)
      local l = link_after(start)
      run_model(l, 60)
      link.free(l, "spec")
    end)
  end
end)

describe("the shim", function ()
  it("adds up the bytes that wait in a ring that wraps", function ()
    local C = require("core.native")
    local l = link_after(2 ^ 32 - 4)
    for i = 1, 9 do link.transmit(l, with_length(i)) end
    assert.equal(45, tonumber(C.pg_link_queued_bytes(l)))
    assert.equal(9, link.free(l, "spec"))
  end)
end)

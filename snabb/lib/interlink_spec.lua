-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local unistd = require("posix.unistd")
local interlink = require("lib.interlink")
local objects = require("lib.observe.objects")
local packet = require("core.packet")
local shm = require("core.shm")
local wait_for = require("testing.support").wait_for
local worker = require("core.worker")

local SEED = os.time()
local NAME = "group/interlink/spec.interlink"

local function put(r, bytes) interlink.insert(r, packet.from_string(bytes)) end

local function take(r)
  local p = interlink.extract(r)
  local bytes = ffi.string(p.data, p.length)
  packet.free(p)
  return bytes
end

local function set_length(r, bytes) ffi.cast("uint32_t *", r.ring)[0] = bytes end

describe("lib.interlink", function ()
  local rx, tx

  local function attach(size)
    rx = interlink.attach_receiver(NAME, size)
    tx = interlink.attach_transmitter(NAME, size)
  end

  local function detach()
    if rx then interlink.detach_receiver(rx, NAME) end
    if tx then interlink.detach_transmitter(tx, NAME) end
    rx, tx = nil, nil
  end

  after_each(detach)

  it("lets each side see what the other publishes", function ()
    attach(4)
    assert.is_true(interlink.empty(rx))
    put(tx, "one")
    assert.is_true(interlink.empty(rx))
    interlink.push(tx)
    assert.is_false(interlink.empty(rx))
    put(tx, "")
    put(tx, "three")
    assert.is_true(interlink.full(tx)) -- 4 - 1
    interlink.push(tx)
    assert.equal("one", take(rx))
    assert.is_true(interlink.full(tx))
    interlink.pull(rx)
    assert.is_false(interlink.full(tx))
    assert.equal("", take(rx))
    assert.equal("three", take(rx))
    assert.is_true(interlink.empty(rx))
  end)

  it("brings packets of any length, in order", function ()
    math.randomseed(SEED)
    for _, size in ipairs{2, 8, 64} do
      attach(size)
      local sent, got, queue = 0, 0, {}
      while got < 2000 do
        for _ = 1, math.random(size) do
          if interlink.full(tx) then break end
          local length = math.random(3) == 1 and math.random(0, 10240)
            or math.random(0, 300)
          sent = sent + 1
          queue[sent] = string.char(sent % 256):rep(length)
          put(tx, queue[sent])
        end
        interlink.push(tx)
        for _ = 1, math.random(size) do
          if interlink.empty(rx) then break end
          got = got + 1
          if queue[got] ~= take(rx) then
            error(("packet %d of seed %d, size %d"):format(got, SEED, size))
          end
          queue[got] = nil
        end
        interlink.pull(rx)
      end
      assert.is_true(sent - got < size)
      detach()
    end
  end)

  it("goes through its states, and is gone in the end", function ()
    rx = interlink.attach_receiver(NAME, 8)
    assert.equal("0/8 (waiting for transmitter)", tostring(rx))
    tx = interlink.attach_transmitter(NAME, 8)
    put(tx, "x")
    interlink.push(tx)
    local seen = interlink.open(NAME, "readonly")
    assert.equal("1/8 (in active use)", tostring(seen))
    assert.equal("1/8 (in active use)", (objects.read(shm.path(NAME))))
    interlink.detach_receiver(rx, NAME)
    assert.equal("1/8 (waiting for receiver)", tostring(seen))
    rx = interlink.attach_receiver(NAME, 8) -- and finds what is there
    assert.equal("x", take(rx))
    interlink.pull(rx)
    interlink.detach_transmitter(tx, NAME)
    assert.equal("0/8 (waiting for transmitter)", tostring(seen))
    assert.is_true(shm.exists(NAME))
    interlink.detach_receiver(rx, NAME)
    assert.equal("0/8 (deallocating)", tostring(seen))
    assert.is_false(shm.exists(NAME))
    shm.unmap(seen)
    rx, tx = nil, nil
  end)

  it("gives back what a side took and didn't publish", function ()
    attach(8)
    put(tx, "a")
    interlink.push(tx)
    put(tx, "never pushed")
    interlink.detach_transmitter(tx, NAME)
    tx = interlink.attach_transmitter(NAME, 8)
    put(tx, "b")
    interlink.push(tx)
    assert.equal("a", take(rx))
    interlink.detach_receiver(rx, NAME) -- without pull
    rx = interlink.attach_receiver(NAME, 8)
    assert.equal("a", take(rx))
    assert.equal("b", take(rx))
    assert.is_true(interlink.empty(rx))
  end)

  it("takes the place of processes that died", function ()
    local attaching = ([[
      local interlink = require("lib.interlink")
      local r = interlink.attach_%s(%q, 8)
      %s
      require("ffi").C.sleep(60)
    ]])
    tx = interlink.attach_transmitter(NAME, 8)
    worker.start("dies", attaching:format("receiver", NAME, ""))
    assert.is_true(wait_for(function () return tx.shared.receiver ~= 0 end))
    put(tx, "x")
    interlink.push(tx)
    worker.stop("dies")
    assert.is_true(wait_for(function () return not worker.status().dies.alive end))
    rx = interlink.attach_receiver(NAME, 8)
    assert.equal("x", take(rx))
    detach()
    -- What a transmitter sent before it died isn't lost.
    worker.start("dies", attaching:format("transmitter", NAME, [[
      interlink.insert(r, require("core.packet").from_string("left"))
      interlink.push(r)
    ]]))
    assert.is_true(wait_for(function ()
      if not shm.exists(NAME) then return false end
      local ok, seen = pcall(interlink.open, NAME, "readonly")
      local done = ok and seen.write == 1
      if ok then shm.unmap(seen) end
      return done
    end))
    worker.stop("dies")
    assert.is_true(wait_for(function () return not worker.status().dies.alive end))
    attach(8)
    assert.equal("left", take(rx))
    assert.is_true(interlink.empty(rx))
  end)

  it("takes the place of one that was killed before it said so #slow", function ()
    tx = interlink.attach_transmitter(NAME, 8)
    put(tx, "x")
    interlink.push(tx)
    tx.shared.state = 5 -- in active use, by a receiver without a number
    rx = interlink.attach_receiver(NAME, 8)
    assert.equal(unistd.getpid(), rx.shared.receiver)
    assert.equal("x", take(rx))
  end)

  it("takes the place of a process whose number another has got #slow", function ()
    tx = interlink.attach_transmitter(NAME, 8)
    tx.shared.state = 5
    tx.shared.receiver = worker.start("another", 'require("ffi").C.sleep(60)')
    rx = interlink.attach_receiver(NAME, 8)
    assert.equal(unistd.getpid(), rx.shared.receiver)
    assert.is_true(worker.status().another.alive)
    worker.stop("another")
  end)

  it("leaves a place to the living #slow", function ()
    local attaching = [[
      require("lib.interlink").attach_receiver(%q, 8)
      require("ffi").C.sleep(60)
    ]]
    tx = interlink.attach_transmitter(NAME, 8)
    worker.start("has it", attaching:format(NAME))
    assert.is_true(wait_for(function () return tx.shared.receiver ~= 0 end))
    local has_it = tx.shared.receiver
    worker.start("wants it", attaching:format(NAME))
    require("core.native").pg_sleep(2.5)
    assert.equal(has_it, tx.shared.receiver)
    assert.is_true(worker.status()["wants it"].alive)
    worker.stop("has it")
    assert.is_true(wait_for(function () return tx.shared.receiver ~= has_it end))
    worker.stop("wants it")
  end)

  it("refuses sizes that can't be, or aren't the other side's", function ()
    for _, size in ipairs{0, 1, 3, 2.5, 2^21, "x"} do
      assert.has_error(function () interlink.attach_receiver(NAME, size) end)
    end
    rx = interlink.attach_receiver(NAME, 8)
    local ok, err = pcall(interlink.attach_transmitter, NAME, 16)
    assert.is_false(ok)
    assert.matches("with the size 8 rather than 16", tostring(err))
    assert.equal(unistd.getpid(), rx.shared.receiver)
  end)

  it("leaves a side that lies, and makes a new queue of the name", function ()
    for _, case in ipairs{
      {"a packet's length", function (r) set_length(r, 0xffffffff) end},
      {"a packet's length", function (r) set_length(r, 10241) end},
      {"a packet's length", function (r) set_length(r, 2109) end},
      {"how many packets there are", function (r) r.write = r.slots + 1 end},
      {"how many packets there are", function (r) r.write = -1ULL end},
      {"how many packets there are", function (r) r.read = -100ULL end, true},
      {"how many packets there are", function (r) r.read = 9 end, true},
    } do
      local about, tell, of_receiver = unpack(case)
      attach(8)
      put(tx, "x")
      interlink.push(tx)
      tell(tx.shared)
      if of_receiver then
        while not interlink.full(tx) do put(tx, "y") end
        assert.equal(about, interlink.lie(tx))
        tx.shared.read = 0
        assert.is_true(interlink.full(tx))
        interlink.detach_transmitter(tx, NAME)
        tx = interlink.attach_transmitter(NAME, 8)
        assert.equal("0/8 (waiting for receiver)", tostring(tx))
      else
        if not interlink.empty(rx) then assert.equal("", take(rx)) end
        assert.equal(about, interlink.lie(rx))
        tx.shared.write = 1
        assert.is_true(interlink.empty(rx))
        interlink.detach_receiver(rx, NAME)
        rx = interlink.attach_receiver(NAME, 8)
        assert.equal("0/8 (waiting for transmitter)", tostring(rx))
      end
      detach()
    end
  end)

  it("keeps its place and the ring's size for itself", function ()
    attach(8)
    for i = 1, 100 do
      put(tx, ("x"):rep(100 * i))
      interlink.push(tx)
      rx.shared.slots, rx.shared.size = 2^31, -1
      assert.equal(100 * i, #take(rx))
      assert.is_true(interlink.empty(rx))
      interlink.pull(rx)
    end
    assert.is_nil(interlink.lie(rx) or interlink.lie(tx))
  end)

  it("isn't misled by what a killed side had half said", function ()
    attach(4)
    tx.shared.write_packets, tx.shared.read_packets = 3, 1000
    interlink.detach_transmitter(tx, NAME)
    tx = interlink.attach_transmitter(NAME, 4)
    assert.is_false(interlink.full(tx))
    put(tx, "x")
    interlink.push(tx)
    assert.equal("x", take(rx))
  end)
end)

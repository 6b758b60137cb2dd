-- SPDX-License-Identifier: Apache-2.0
-- Packets against a model that is a Lua string; the memory around a packet's
-- buffer must stay as it was whatever is asked for.

local ffi = require("ffi")
local packet = require("core.packet")
local pool = require("core.pool")

local MAX = packet.max_payload
local GUARD = 64 -- bytes behind a buffer: the mempool's header of the next one

local function bytes(p)
  return ffi.string(p.data, p.length)
end

local function random_string(n)
  local t = {}
  for i = 1, n do t[i] = string.char(math.random(0, 255)) end
  return table.concat(t)
end

-- What no operation may change: the mbuf's own fields and what lies behind it.
local function surroundings(p)
  return table.concat({tostring(p.buf_addr), p.buf_len, tostring(p.pool),
    tostring(p.next), p.refcnt, p.nb_segs, p.priv_size,
    ffi.string(p.buf_addr + p.buf_len, GUARD)}, "|")
end

local function in_bounds(p)
  return p.data_off + p.length <= p.buf_len
    and p.data_off + MAX <= p.buf_len
end

describe("a packet", function ()
  it("is empty when new, with headroom and room for max_payload", function ()
    local p = packet.allocate()
    assert.equal(0, p.length)
    assert.equal(packet.default_headroom, p.data - p.buf_addr)
    assert.is_true(in_bounds(p))
    packet.free(p)
  end)

  it("has the bytes of a string or pointer", function ()
    local p = packet.from_string("\0abc\255")
    assert.equal("\0abc\255", bytes(p))
    local q = packet.from_pointer(ffi.new("uint8_t[3]", 1, 2, 3), 3)
    assert.equal("\1\2\3", bytes(q))
    packet.free(p)
    packet.free(q)
  end)

  it("holds 10,240 bytes and no more", function ()
    local text = random_string(MAX)
    local p = packet.from_string(text)
    local before = surroundings(p)
    assert.equal(text, bytes(p))
    assert.equal(text, bytes(packet.resize(p, MAX)))
    for _, f in ipairs{
      function () packet.append(p, "x", 1) end,
      function () packet.prepend(p, "x", 1) end,
      function () packet.shiftright(p, 1) end,
      function () packet.resize(p, MAX + 1) end,
      function () packet.from_string(text .. "x") end,
    } do
      local ok, err = pcall(f)
      assert.is_false(ok)
      assert.matches("can't hold 10241 bytes: it holds 0 to 10240", err)
    end
    assert.equal(text, bytes(p))
    assert.equal(before, surroundings(p))
    packet.free(p)
  end)

  it("refuses lengths that aren't in its range, and stays as it was", function ()
    local p = packet.from_string("hello")
    local data = p.data
    for _, n in ipairs{-1, -5, -10240, -2 ^ 31, 2 ^ 31, 2 ^ 32, 2 ^ 53, 1 / 0, 0 / 0} do
      for name, f in pairs{
        append = function () packet.append(p, data, n) end,
        prepend = function () packet.prepend(p, data, n) end,
        shiftleft = function () packet.shiftleft(p, n) end,
        shiftright = function () packet.shiftright(p, n) end,
        resize = function () packet.resize(p, n) end,
        from_pointer = function () packet.from_pointer(data, n) end,
      } do
        assert.is_false(pcall(f), ("%s %g"):format(name, n))
      end
    end
    assert.is_false(pcall(packet.shiftleft, p, 6))
    assert.equal("hello", bytes(p))
    assert.equal(data, p.data)
    packet.free(p)
  end)

  it("takes lengths that are 64-bit integers", function ()
    local p = packet.from_string("hello")
    packet.resize(p, 10ULL)
    packet.append(p, "abc", 3LL)
    packet.shiftleft(p, 2ULL)
    packet.prepend(p, "xy", 2LL)
    assert.equal("xyllo\0\0\0\0\0abc", bytes(p))
    for _, n in ipairs{20000ULL, -1LL, -1ULL} do
      assert.is_false(pcall(packet.resize, p, n))
      assert.is_false(pcall(packet.append, p, "abc", n))
      assert.is_false(pcall(packet.shiftleft, p, n))
      assert.is_false(pcall(packet.shiftright, p, n))
    end
    assert.equal(13, p.length)
    packet.free(p)
  end)

  it("says so when a field doesn't exist", function ()
    local p = packet.allocate()
    local ok, err = pcall(function () return p.size end)
    assert.is_false(ok)
    assert.matches("no field 'size'", err)
    packet.free(p)
  end)

  it("is empty again after free, wherever it started and however long", function ()
    local p = packet.shiftleft(packet.from_string(random_string(400)), 100)
    assert.equal(packet.default_headroom + 100, p.data_off)
    packet.free(p)
    local again = packet.allocate()
    assert.equal(p, again) -- the free list is a stack
    assert.equal(0, again.length)
    assert.equal(packet.default_headroom, again.data_off)
    packet.free(again)
  end)

  it("isn't changed by a change of its clone", function ()
    local p = packet.from_string("original")
    local q = packet.clone(p)
    ffi.copy(q.data, "changed!")
    packet.append(q, "more", 4)
    assert.equal("original", bytes(p))
    assert.equal("changed!more", bytes(q))
    packet.free(p)
    packet.free(q)
  end)
end)

-- Random operations ---------------------------------------------------------

-- Each takes the packet, the model and a length; returns the new model, or nil
-- when the operation must be refused.
local operations = {
  append = function (p, model, n, text)
    if #model + n > MAX then return nil, pcall(packet.append, p, text, n) end
    assert.equal(p, packet.append(p, text, n))
    return model .. text
  end,
  prepend = function (p, model, n, text)
    if #model + n > MAX then return nil, pcall(packet.prepend, p, text, n) end
    assert.equal(p, packet.prepend(p, text, n))
    return text .. model
  end,
  shiftleft = function (p, model, n)
    if n > #model then return nil, pcall(packet.shiftleft, p, n) end
    assert.equal(p, packet.shiftleft(p, n))
    return model:sub(n + 1)
  end,
  shiftright = function (p, model, n)
    if #model + n > MAX then return nil, pcall(packet.shiftright, p, n) end
    assert.equal(p, packet.shiftright(p, n))
    return ffi.string(p.data, n) .. model -- the opened bytes are undefined
  end,
  resize = function (p, model, n)
    if n > MAX then return nil, pcall(packet.resize, p, n) end
    assert.equal(p, packet.resize(p, n))
    return (model .. ("\0"):rep(n - #model)):sub(1, n)
  end,
  clone = function (p, model)
    local copy = packet.clone(p)
    assert.equal(model, bytes(copy))
    assert.not_equal(p.data, copy.data)
    packet.free(copy)
    return model
  end,
}
local names = {"append", "prepend", "shiftleft", "shiftright", "resize", "clone"}

local function random_length()
  local kind = math.random(8)
  if kind == 1 then return 0 end
  if kind == 2 then return math.random(0, MAX + 10) end
  return math.random(1, kind < 6 and 64 or 700)
end

local text_pool = random_string(2 * MAX)

local function run_sequence(p, steps)
  local model = bytes(p)
  local before = surroundings(p)
  for _ = 1, steps do
    local name, n = names[math.random(#names)], random_length()
    local from = math.random(MAX)
    local text = text_pool:sub(from, from + n - 1)
    local after, accepted = operations[name](p, model, n, text)
    assert.is_not_true(accepted, name)
    model = after or model
    if bytes(p) ~= model or not in_bounds(p) or surroundings(p) ~= before then
      error(("%s by %d: the packet differs from its model"):format(name, n))
    end
  end
end

describe("random operations", function ()
  local seed = os.time()
  before_each(function () math.randomseed(seed) end)

  it(("agree with a string (seed %d) #slow"):format(seed), function ()
    for _ = 1, 300 do
      local p = packet.from_string(text_pool:sub(1, math.random(0, 2000)))
      run_sequence(p, 30)
      packet.free(p)
    end
  end)

  it("agree when a driver left another headroom", function ()
    for _ = 1, 100 do
      local p = packet.allocate()
      p.data_off = math.random(0, 1) * 128
      packet.append(p, text_pool, 60)
      run_sequence(p, 20)
      packet.free(p)
    end
  end)

  it("agree at the longest lengths", function ()
    for _ = 1, 30 do
      local p = packet.from_string(text_pool:sub(1, MAX - math.random(0, 600)))
      run_sequence(p, 20)
      packet.free(p)
    end
  end)
end)

describe("the count of freed packets", function ()
  local fl = pool.freelist

  local function freed(f)
    local n, b, bits = fl.frees, fl.freebytes, fl.freebits
    f()
    return tonumber(fl.frees - n), tonumber(fl.freebytes - b),
      tonumber(fl.freebits - bits)
  end

  it("has bytes, and bits on the wire with padding, preamble and gap", function ()
    for length, bits in pairs{[0] = 84 * 8, [59] = 84 * 8, [60] = 84 * 8,
                              [61] = 85 * 8, [1514] = 1538 * 8, [10240] = 10264 * 8} do
      local p = packet.resize(packet.allocate(), length)
      assert.same({1, length, bits}, {freed(function () packet.free(p) end)})
    end
  end)

  it("counts by account_free without freeing, free_internal the reverse", function ()
    local p = packet.from_string(("x"):rep(100))
    local nfree = fl.nfree
    assert.same({1, 100, 124 * 8}, {freed(function () packet.account_free(p) end)})
    assert.equal(nfree, fl.nfree)
    assert.same({0, 0, 0}, {freed(function () packet.free_internal(p) end)})
    assert.equal(nfree + 1, fl.nfree)
  end)

  it("takes the size of the pool before there is one", function ()
    local pipe = io.popen(("/proc/%d/exe snsh -e '%s' 2>&1"):format(
      require("posix.unistd").getpid(), [[packet.initialize(2000)
        print(require("core.pool").sizes())
        packet.free(packet.allocate())
        print(pcall(packet.initialize, 3000))]]))
    local output = pipe:read("*a")
    pipe:close()
    assert.equal("512\t2000\nfalse\tfreelist is already in use\n", output)
  end)
end)

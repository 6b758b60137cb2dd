-- SPDX-License-Identifier: Apache-2.0

local C = require("core.declare")("apps/packet_filter/connections.h")
local conntrack = require("apps.packet_filter.conntrack")
local ffi = require("ffi")
local keep = require("net.keep.keep")
local kept = require("testing.kept")

local SEED = os.time()
local MACS = "\2\0\0\0\0\1\2\0\0\0\0\2"

local function u16(n) return string.char(math.floor(n / 256), n % 256) end

-- Frames between the addresses (4 or 16 bytes) and ports.
local function frame(protocol, from, to, source, destination, options)
  local l4 = u16(source) .. u16(destination) .. ("\0"):rep(8)
  if #from == 16 then
    return MACS .. "\x86\xdd\x60\0\0\0\0\12" .. string.char(protocol) .. "\64"
      .. from .. to .. l4
  end
  options = options or ""
  return MACS .. "\8\0" .. string.char(0x45 + #options / 4) .. "\0\0\0\0\0\0\0\64"
    .. string.char(protocol) .. "\0\0" .. from .. to .. options .. l4
end

local A, B = "\10\0\0\1", "\10\0\0\2"
local A6, B6 = ("\32"):rep(16), ("\32"):rep(15) .. "\33"
local TCP, UDP, ICMP = 6, 17, 1

local function spec(bytes) return conntrack.spec(bytes, #bytes) end

describe("apps.packet_filter.conntrack", function ()
  local t = conntrack.define("spec")
  local limit = t.table.limit

  before_each(conntrack.clear)
  after_each(function () t.table.limit = limit end)

  local function track(bytes) spec(bytes):track("spec") end
  local function known(bytes) return spec(bytes):check("spec") end

  it("knows both directions of what it tracks, and nothing else", function ()
    for _, ends in ipairs{{A, B}, {A6, B6}} do
      local a, b = unpack(ends)
      track(frame(UDP, a, b, 1024, 53))
      assert.is_true(known(frame(UDP, a, b, 1024, 53)))
      assert.is_true(known(frame(UDP, b, a, 53, 1024)))
      assert.is_false(known(frame(UDP, a, b, 53, 1024)))
      assert.is_false(known(frame(UDP, a, b, 1024, 54)))
      assert.is_false(known(frame(UDP, b, a, 1024, 53)))
      assert.is_false(known(frame(TCP, a, b, 1024, 53)))
      assert.is_false(known(frame(UDP, a, a, 1024, 53)))
      track(frame(ICMP, b, a, 1, 2)) -- has no ports
      assert.is_true(known(frame(ICMP, a, b, 7, 8)))
    end
    assert.equal(4, conntrack.count("spec"))
    conntrack.clear()
    assert.equal(0, conntrack.count("spec"))
    assert.is_false(known(frame(UDP, A, B, 1024, 53)))
  end)

  it("looks behind options, and for no ports in later fragments", function ()
    track(frame(TCP, A, B, 5, 6))
    assert.is_true(known(frame(TCP, A, B, 5, 6, ("\1"):rep(40))))
    local fragment = frame(TCP, A, B, 5, 6)
    fragment = fragment:sub(1, 20) .. "\0\9" .. fragment:sub(23)
    assert.is_false(known(fragment))
    track(fragment)
    assert.is_true(known(fragment:sub(1, 34)))
  end)

  it("sees no connection in what is cut short or no IP", function ()
    local whole = frame(TCP, A, B, 5, 6, ("\1"):rep(40))
    for length = 0, 77 do assert.is_nil(spec(whole:sub(1, length))) end
    assert.is_not_nil(spec(whole:sub(1, 78)))
    whole = frame(UDP, A6, B6, 5, 6)
    for length = 0, 57 do assert.is_nil(spec(whole:sub(1, length))) end
    assert.is_not_nil(spec(whole:sub(1, 58)))
    assert.is_nil(spec(MACS .. "\8\6" .. ("\0"):rep(60)))
    assert.is_nil(conntrack.spec(nil))
  end)

  it("forgets what wasn't seen for two hours", function ()
    local max_age = 7200e3
    local c = spec(frame(UDP, A, B, 1, 2))
    t.now = 1000
    C.pg_connections_add(t, c)
    t.now = 999 + max_age -- seen again
    assert.is_true(C.pg_connections_find(t, c))
    t.now = 998 + 2 * max_age
    assert.is_true(C.pg_connections_find(t, c))
    t.now = 998 + 3 * max_age
    assert.is_false(C.pg_connections_find(t, c))
    assert.equal(0, conntrack.count("spec"))
    C.pg_connections_add(t, c)
    assert.is_true(C.pg_connections_find(t, c))
    t.now = t.now + max_age
    C.pg_connections_add(t, spec(frame(UDP, A, B, 1, 3)))
    assert.equal(1, t.table.records.count) -- the other has made room
  end)

  it("gives up what is oldest when it is full, and counts", function ()
    t.table.limit = 8
    for i = 1, 20 do
      t.now = i
      C.pg_connections_add(t, spec(frame(UDP, A, B, 1, i)))
    end
    for i = 1, 20 do
      local c = spec(frame(UDP, A, B, 1, i))
      assert.equal(i > 12, C.pg_connections_find(t, c))
    end
    assert.equal(12, tonumber(t.table.evicted))
    assert.equal(8, conntrack.count("spec"))
  end)

  -- 1,000 connections of which a packet comes now and then, while others of a packet
  -- each fill the table twice.
  it("keeps what is in use in a flood of others", function ()
    local USED = 1000
    local function used(i) return spec(frame(UDP, A, B, i, 1)) end
    for i = 1, USED do C.pg_connections_add(t, used(i)) end
    local lost = 0
    for n = 1, 2 * conntrack.capacity do
      t.now = t.now + 1
      local port, from = n % 65536, string.char(11, 0, 0, math.floor(n / 65536))
      C.pg_connections_add(t, spec(frame(UDP, from, B, port, 2)))
      local c = used(n % USED + 1)
      if not C.pg_connections_find(t, c) then lost = lost + 1 end
    end
    assert.equal(0, lost)
    assert.equal(conntrack.capacity, t.table.records.count)
    assert.equal(conntrack.capacity + USED, tonumber(t.table.evicted))
  end)

  it("agrees with a table of Lua's", function ()
    math.randomseed(SEED)
    local model, wrong = {}, 0
    local function random_end() return string.char(10, 0, 0, math.random(4)) end
    for _ = 1, 20000 do
      local a, b = random_end(), random_end()
      local x, y = math.random(8), math.random(8)
      local one, other = a .. x, b .. y
      local key = one < other and one .. other or other .. one
      local bytes = frame(UDP, a, b, x, y)
      if known(bytes) ~= (model[key] or false) then wrong = wrong + 1 end
      if math.random(10) == 1 then
        track(bytes)
        model[key] = true
      end
    end
    assert.equal(0, wrong, "of seed " .. SEED)
    assert.equal(0, tonumber(t.table.evicted))
  end)
end)

describe("A table of connections that outlives the process", function ()
  before_each(kept.set_up)
  after_each(kept.tear_down)

  local function spec_of(n)
    local bytes = frame(6, "\10\0\0\1", "\10\0\0" .. string.char(n), 1024, 80)
    return conntrack.spec(ffi.cast("const uint8_t *", bytes), #bytes)
  end

  local serial = 0

  -- Another table, as of another process, with what is kept of "kept".
  local function started()
    serial = serial + 1
    local name = "kept" .. serial
    local t = conntrack.define(name)
    local item = conntrack.kept_state(t)
    assert.is_nil(conntrack.kept_state(t)) -- once
    item.of, item.family = "kept", nil
    keep.records(item)
    return name, t
  end

  it("goes on", function ()
    local name = started()
    for i = 1, 3 do spec_of(i):track(name) end
    kept.again()
    name = started()
    assert.equal(3, conntrack.count(name))
    assert.is_true(spec_of(2):check(name))
    assert.is_false(spec_of(4):check(name))
  end)

  it("believes no file", function ()
    local name = started()
    for i = 1, 40 do spec_of(i):track(name) end
    kept.mutate("kept", kept.MUTANTS / 25, function ()
      local other, t = started()
      assert.truthy(conntrack.count(other) <= 64)
      assert.equal(conntrack.count(other), t.table.records.count)
      spec_of(50):track(other)
      assert.is_true(spec_of(50):check(other))
    end)
  end)
end)

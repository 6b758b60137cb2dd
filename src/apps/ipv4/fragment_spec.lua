-- SPDX-License-Identifier: Apache-2.0
-- Fragmenter and Reassembler of IPv4: each other's oracle here; the kernel's is in
-- test/test_fragments.py.

local ffi = require("ffi")
local checksum = require("lib.checksum")
local Fragmenter = require("apps.ipv4.fragment").Fragmenter
local Reassembler = require("apps.ipv4.reassemble").Reassembler
local testing = require("testing.harness")

local char = string.char
local be16, field, payload_of = testing.be16, testing.field, testing.payload_of
local ETHERNET = ("\2"):rep(12) .. "\8\0"

-- A frame: `o` may have options, id, flags (with the offset), protocol, total.
local function frame(payload, o)
  o = o or {}
  local options = o.options or ""
  local header = char(0x45 + #options / 4, 0)
    .. be16(o.total or 20 + #options + #payload) .. be16(o.id or 7)
    .. be16(o.flags or 0) .. char(64, o.protocol or 17) .. "\0\0"
    .. char(192, 0, 2, 1, 198, 51, 100, 1) .. options
  local sum = checksum.ipsum(header, #header, 0)
  return ETHERNET .. header:sub(1, 10) .. be16(sum) .. header:sub(13) .. payload
end

local function fragmenter(mtu)
  return testing.app(Fragmenter, {mtu = mtu}, {"input"}, {"output"})
end

local function reassembler(arg)
  return testing.app(Reassembler, arg or {}, {"input"}, {"output"})
end

describe("the IPv4 Fragmenter", function ()
  it("cuts what is too long, and that can be put together again #slow", function ()
    for _, mtu in ipairs{68, 69, 576, 1500} do
      for _, n in ipairs{1, 47, 48, 49, 556, 557, 1480, 1481, 2000, 5000} do
        local app, original = fragmenter(mtu), frame(payload_of(n))
        local parts = testing.through(app, {original})
        if n + 20 <= mtu then
          assert.same({original}, parts)
        else
          testing.walk_parts(parts, 34, mtu, function (part, at, is_last)
            assert.equal(#part - 14, field(part, 16))
            assert.equal((is_last and 0 or 0x2000) + at / 8, field(part, 20))
            assert.equal(0, checksum.ipsum(part:sub(15), 20, 0))
            assert.equal(field(parts[1], 18), field(part, 18))
          end)
          assert.equal(#parts, testing.count(app, "out-ipv4-frag"))
          local whole = testing.through(
            reassembler{max_fragments_per_reassembly = 200}, parts)
          assert.same({frame(payload_of(n), {id = 0})}, whole)
        end
      end
    end
  end)

  it("counts up the identification, and keeps that of fragments", function ()
    local app = fragmenter(576)
    local id = app.next_fragment_id
    local a = testing.through(app, {frame(payload_of(600)), frame(payload_of(600))})
    assert.equal((id + 1) % 65536, field(a[1], 18))
    assert.equal((id + 2) % 65536, field(a[4], 18))
    -- A fragment from 800 on, others follow: so do they behind all of its parts.
    local b = testing.through(app, {frame(payload_of(800), {id = 9, flags = 0x2064})})
    assert.same({9, 0x2064, 0x20a9},
      {field(b[1], 18), field(b[1], 20), field(b[2], 20)})
  end)

  it("leaves options to the first part unless they are to be copied", function ()
    local options = char(7, 3, 4) .. char(0x94, 4, 0, 0) .. "\1"
    local parts = testing.through(fragmenter(100), {frame(payload_of(200),
      {options = options})})
    assert.equal(options, parts[1]:sub(35, 42))
    assert.equal("\x46", parts[2]:sub(15, 15)) -- so has a header of 24 bytes
    assert.equal(options:sub(4, 7) .. payload_of(200):sub(73, 76), parts[2]:sub(35, 42))
  end)

  it("drops what mustn't be cut, and what is damaged", function ()
    local app = fragmenter(576)
    assert.same({}, testing.through(app, {frame(payload_of(600), {flags = 0x4000})}))
    assert.equal(1, testing.count(app, "drop-ipv4-frag-unfragmentable"))
    local good = frame(payload_of(40))
    assert.same({}, testing.through(app, {good:sub(1, 33), good:sub(1, -2),
      frame("abc", {total = 19}), ETHERNET .. "\x44" .. good:sub(16)}))
    assert.equal(4, testing.count(app, "drop-ipv4-frag-invalid-length"))
  end)

  it("passes other protocols and cuts off what isn't IP's", function ()
    local app, arp = fragmenter(68), ("\2"):rep(12) .. "\8\6" .. ("x"):rep(100)
    local short = frame("abc")
    assert.same({arp, "short", short}, testing.through(app,
      {arp, "short", short .. ("\0"):rep(80)}))
    assert.equal(3, testing.count(app, "out-ipv4-frag-not"))
  end)

  it("refuses other MTUs", function ()
    for _, mtu in ipairs{67, 65536, "much", 100.5} do
      assert.has_error(function () Fragmenter:new{mtu = mtu} end)
    end
  end)
end)

describe("the IPv4 Reassembler", function ()
  local whole = frame(payload_of(1000), {id = 0})
  local parts = testing.through(fragmenter(300), {frame(payload_of(1000))})

  it("takes fragments in any order, and more than once #slow", function ()
    math.randomseed(3)
    for _ = 1, 200 do
      local app, order = reassembler(), {unpack(parts)}
      for i = #order, 2, -1 do
        local j = math.random(i)
        order[i], order[j] = order[j], order[i]
      end
      local first = order[1]
      -- What comes twice: any but the last fragment, before the datagram is whole.
      if field(first, 20) >= 0x2000 then table.insert(order, 2, first) end
      assert.same({whole}, testing.through(app, order))
      assert.equal(1, testing.count(app, "in-ipv4-frag-reassembled"))
      assert.equal(0, app.datagrams:count())
    end
  end)

  it("takes the headers of the first fragment", function ()
    local options = char(7, 3, 4, 0)
    local a = frame(("a"):rep(8), {flags = 0x2000, options = options})
    local b = frame("b", {flags = 1})
    for _, order in ipairs{{a, b}, {b, a}} do
      assert.same({frame("aaaaaaaab", {id = 0, options = options})},
        testing.through(reassembler(), order))
    end
  end)

  it("tells datagrams apart", function ()
    local function part(first, o)
      o.flags = first and 0x2000 or 1
      return frame(first and ("x"):rep(8) or "y", o)
    end
    local app = reassembler()
    assert.same({}, testing.through(app, {part(true, {id = 1}), part(false, {id = 2}),
      part(false, {id = 1, protocol = 6})}))
    assert.equal(3, app.datagrams:count())
    assert.equal(1, #testing.through(app, {part(false, {id = 1})}))
  end)

  it("gives up datagrams whose fragments overlap or lie", function ()
    local function f(size, at, more)
      return frame(payload_of(size), {flags = at / 8 + (more and 0x2000 or 0)})
    end
    local cases = {
      {f(16, 0, true), f(16, 8, true)}, -- teardrop's kind
      {f(64, 0, true), f(8, 24, false)},
      {f(24, 8, true), f(64, 0, true)},
      {f(8, 8, false), f(8, 16, true)}, -- behind the end
      {f(8, 16, true), f(8, 8, false)},
      {f(8, 8, false), f(8, 8, false)}, -- two ends
      {f(8, 8, false), f(8, 16, false)},
      {f(0, 0, true)}, {f(9, 0, true)}, -- of no use
      {f(8, 65528, false)}, {f(16, 10208, false)}, -- too long
    }
    for i, case in ipairs(cases) do
      local app = reassembler()
      assert.same({}, testing.through(app, case))
      assert.same({i, 1}, {i, testing.count(app, "drop-ipv4-frag-invalid-reassembly")})
      assert.equal(0, app.datagrams:count())
    end
  end)

  it("takes no more fragments than it may", function ()
    local app = reassembler{max_fragments_per_reassembly = 3}
    assert.equal(4, #parts)
    assert.same({}, testing.through(app, parts))
    assert.equal(1, testing.count(app, "drop-ipv4-frag-invalid-reassembly"))
  end)

  it("holds no more datagrams than it may, nor longer", function ()
    local app = reassembler{max_concurrent_reassemblies = 10, reassembly_timeout = 0}
    for id = 1, 1000 do
      testing.through(app, {frame(("x"):rep(8), {id = id, flags = 0x2000})})
    end
    assert.equal(10, app.datagrams:count())
    assert.equal(990, testing.count(app, "drop-ipv4-frag-random-evicted"))
    for _ = 1, 100 do app:tick() end
    assert.equal(0, app.datagrams:count())
    assert.equal(10, testing.count(app, "drop-ipv4-frag-invalid-reassembly"))
    -- What was evicted can come anew; what has gone leaves nothing behind.
    assert.same({whole}, testing.through(app, parts))
  end)

  it("tells of the memory that Snabb's table would have", function ()
    local app = reassembler()
    app:tick()
    assert.equal(728203264, testing.count(app, "memuse-ipv4-frag-reassembly-buffer"))
  end)

  it("reads nothing outside a packet, whatever is in it #slow", function ()
    math.randomseed(9)
    local app, cutter = reassembler{max_concurrent_reassemblies = 50}, fragmenter(68)
    local options = frame(payload_of(300), {options = ("\7\4\4\0"):rep(10)})
    local frames = {options, whole, unpack(parts)}
    for _, a in ipairs{app, cutter} do
      testing.at_the_edge(a, "input", 20000, function (n)
        return testing.mutate(frames[n % #frames + 1], 12)
      end)
    end
    assert.is_true(testing.count(app, "in-ipv4-frag-needs-reassembly") > 1000)
    assert.is_true(testing.count(cutter, "out-ipv4-frag") > 1000)
    assert.is_true(app.datagrams:count() <= 50)
    assert.is_true(ffi.sizeof(app.key) == 12)
  end)
end)

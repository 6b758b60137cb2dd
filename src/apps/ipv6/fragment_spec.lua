-- SPDX-License-Identifier: Apache-2.0
-- Fragmenter and Reassembler of IPv6: each other's oracle here; the kernel's is in
-- test/test_fragments.py.

local ffi = require("ffi")
local datagram = require("lib.protocol.datagram")
local ethernet = require("lib.protocol.ethernet")
local Fragmenter = require("apps.ipv6.fragment").Fragmenter
local icmp = require("lib.protocol.icmp.header")
local ipv6 = require("lib.protocol.ipv6")
local packet = require("core.packet")
local Reassembler = require("apps.ipv6.reassemble").Reassembler
local testing = require("testing.harness")

local char = string.char
local be16, field, payload_of = testing.be16, testing.field, testing.payload_of
local A, B, US = "2001:db8::a", "2001:db8::b", "2001:db8::1"

-- A frame; `next_header` default 17.
local function frame(payload, next_header, src, dst)
  local d = datagram:new()
  d:payload(payload, #payload)
  local ip = ipv6:new{src = ipv6:pton(src or A), dst = ipv6:pton(dst or B),
    next_header = next_header or 17}
  ip:payload_length(#payload)
  d:push(ip)
  d:push(ethernet:new{type = 0x86dd})
  local p = d:packet()
  local bytes = ffi.string(p.data, p.length)
  packet.free(p)
  return bytes
end

-- A fragment of `payload`, which belongs at `at`.
local function part(payload, at, more, id)
  return frame(char(17, 0) .. be16(at + (more and 1 or 0)) .. "\0\0\0" .. char(id or 1)
    .. payload, 44)
end

local function fragmenter(arg)
  return testing.app(Fragmenter, arg, {"input", "south"}, {"output", "north"})
end

local function reassembler(arg)
  return testing.app(Reassembler, arg or {}, {"input"}, {"output"})
end

describe("the IPv6 Fragmenter", function ()
  it("cuts what is too long, and that can be put together again #slow", function ()
    for _, mtu in ipairs{1280, 1281, 1500} do
      for _, n in ipairs{1, 1239, 1240, 1241, 1460, 1461, 5000, 10000} do
        local app, original = fragmenter{mtu = mtu}, frame(payload_of(n))
        local parts = testing.through(app, {original})
        if n + 40 <= mtu then
          assert.same({original}, parts)
        else
          assert.equal(n, testing.walk_parts(parts, 62, mtu, function (f, at, is_last)
            assert.same({44, 17}, {f:byte(21), f:byte(55)})
            assert.equal(#f - 54, field(f, 18))
            assert.equal(at + (is_last and 0 or 1), field(f, 56))
            assert.equal(parts[1]:sub(59, 62), f:sub(59, 62))
          end))
          assert.equal(#parts, testing.count(app, "out-ipv6-frag"))
          assert.same({original}, testing.through(reassembler(), parts))
        end
      end
    end
  end)

  it("passes what isn't IPv6 and drops what is cut short", function ()
    local app, arp = fragmenter{mtu = 1280}, ("\2"):rep(12) .. "\8\6" .. ("x"):rep(2000)
    local f = frame("abc")
    assert.same({arp, "x"}, testing.through(app,
      {arp, "x", f:sub(1, 53), f:sub(1, 56)}))
    assert.equal(2, testing.count(app, "drop-ipv6-frag-invalid-length"))
    assert.same({f}, testing.through(app, {f .. ("\0"):rep(1300)}))
    assert.has_error(function () Fragmenter:new{mtu = 1279} end)
  end)
end)

-- A report that packets of `about` to B may have `mtu` bytes at most.
local function report(mtu, to, about, damage)
  local inner = frame(payload_of(1232 - 48), 17, about or US, B):sub(15)
  local body = "\0\0" .. be16(mtu) .. inner
  local ip = ipv6:new{src = ipv6:pton(A), dst = ipv6:pton(to or US)}
  local header = icmp:new(2, 0)
  header:checksum(ffi.cast("const uint8_t *", body), #body, ip)
  local bytes = ffi.string(header:header_ptr(), 4)
  return frame(bytes .. body .. (damage or ""), 58, A, to or US)
end

describe("path MTUs", function ()
  local long = frame(payload_of(1400))

  it("are learnt from reports, and forgotten", function ()
    local app = fragmenter{mtu = 1500, pmtud = true, pmtu_timeout = 0}
    assert.same({long}, testing.through(app, {long}))
    assert.same({}, testing.through(app, {report(1400)}, "south", "north"))
    assert.equal(1, testing.count(app, "ipv6-pmtud-ptb-valid"))
    local parts = testing.through(app, {long})
    assert.equal(2, #parts)
    assert.is_true(#parts[1] <= 1414)
    local to_another = long:sub(1, 22) .. ("\1"):rep(32) .. long:sub(55)
    assert.same({to_another}, testing.through(app, {to_another}))
    app:tick()
    assert.same({long}, testing.through(app, {long}))
  end)

  it("are told by reports that are right, and for us", function ()
    local app = fragmenter{mtu = 1500, pmtud = true, pmtu_local_addresses = {US}}
    for name, r in pairs{["-invalid"] = report(1279), ["-invalid-csum"] =
        report(1400, US, US, "\1\2"), ["-valid"] = report(1400)} do
      assert.same({}, testing.through(app, {r}, "south", "north"))
      assert.same({name, 1}, {name, testing.count(app, "ipv6-pmtud-ptb" .. name)})
    end
    assert.same({}, testing.through(app, {report(1300, US, A)}, "south", "north"))
    assert.equal(2, testing.count(app, "ipv6-pmtud-ptb-invalid"))
    assert.equal(4, testing.count(app, "ipv6-pmtud-ptb-received"))
    -- The rest goes on.
    local others = {report(1400, B), frame("x", 58), frame("", 58), "x", long}
    assert.same(others, testing.through(app, others, "south", "north"))
  end)

  it("of made-up reports fill a bounded table", function ()
    local app = fragmenter{mtu = 1500, pmtud = true}
    for i = 1, 6000 do
      app.paths:learn(ffi.new("uint32_t[4]", i), 1300, 0)
    end
    assert.equal(4096, app.paths.table:count())
  end)
end)

describe("the IPv6 Reassembler", function ()
  it("takes fragments in any order, and more than once", function ()
    local a, b, c = part(("a"):rep(16), 0, true), part(("b"):rep(8), 16, true),
      part("c", 24, false)
    local whole = {frame(("a"):rep(16) .. ("b"):rep(8) .. "c")}
    for _, order in ipairs{{a, b, c}, {a, c, b}, {b, a, c}, {b, c, a}, {c, a, b},
                           {c, b, a}, {a, a, b, b, c}, {c, b, b, a}} do
      local app = reassembler()
      assert.same(whole, testing.through(app, order))
      assert.equal(0, app.datagrams:count())
    end
  end)

  it("takes datagrams of one fragment (RFC 6946)", function ()
    assert.same({frame("alone")}, testing.through(reassembler(), {part("alone", 0)}))
    assert.same({frame("")}, testing.through(reassembler(), {part("", 0)}))
  end)

  it("gives up what overlaps, lies, or takes too long", function ()
    local eight = ("x"):rep(8)
    for i, case in ipairs{
      {part(eight .. eight, 0, true), part(eight, 8, true)}, {part("x", 0, true)},
      {part("", 8, true)}, {part("x", 16), part("y", 8)},
      {part(eight, 10192, false)},
    } do
      local app = reassembler()
      assert.same({}, testing.through(app, case))
      assert.same({i, 1}, {i, testing.count(app, "drop-ipv6-frag-invalid-reassembly")})
    end
    local app = reassembler{reassembly_timeout = 0}
    assert.same({}, testing.through(app, {part(eight, 0, true)}))
    app:tick()
    assert.equal(1, testing.count(app, "drop-ipv6-frag-invalid-reassembly"))
    assert.equal(11378176, testing.count(app, "memuse-ipv6-frag-reassembly-buffer"))
  end)

  it("drops fragments without room for their header", function ()
    local app = reassembler()
    for n = 0, 7 do
      assert.same({}, testing.through(app, {frame(("\0"):rep(n), 44)}))
    end
    assert.equal(8, testing.count(app, "drop-ipv6-frag-invalid-length"))
  end)

  it("reads nothing outside a packet, whatever is in it #slow", function ()
    math.randomseed(9)
    local app = reassembler{max_concurrent_reassemblies = 50}
    local cutter = fragmenter{mtu = 1280, pmtud = true}
    local frames = {part(("x"):rep(16), 0, true), part("y", 8), frame(payload_of(1300)),
      report(1400)}
    local function make(n) return testing.mutate(frames[n % #frames + 1], 12) end
    testing.at_the_edge(app, "input", 10000, make)
    testing.at_the_edge(cutter, "input", 10000, make)
    testing.at_the_edge(cutter, "south", 10000, make)
    assert.is_true(app.datagrams:count() <= 50)
    assert.is_true(testing.count(cutter, "out-ipv6-frag") > 500)
    assert.is_true(testing.count(cutter, "ipv6-pmtud-ptb-received") > 500)
  end)
end)

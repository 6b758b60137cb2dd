-- SPDX-License-Identifier: Apache-2.0
local bit = require("bit")
local ffi = require("ffi")
local methods = require("moongen.packets.buffer")
local offload = require("moongen.packets.offload")
local packet = require("core.packet")
local pools = require("moongen.memory.pools")
local script_ffi = require("moongen.packets.script_ffi")
local stack = require("lib.stack")

local C = ffi.C
ffi.cdef[[
void mg_spec_offload(struct packet **packets, uint32_t n) __asm__("pg_offload_here");
]]

-- n packets of `size` bytes, in an object as CORE's arrays of buffers.
local function array_of(n, size)
  local bufs = {array = ffi.new("struct packet *[?]", n), size = n, maxSize = n}
  for i = 0, n - 1 do bufs.array[i] = packet.resize(packet.allocate(), size) end
  return setmetatable(bufs, {__index = bufs.methods})
end

local function free(bufs)
  for i = 0, bufs.size - 1 do packet.free(bufs.array[i]) end
end

describe("a buffer", function ()
  local p

  before_each(function () p = packet.resize(packet.allocate(), 60) end)
  after_each(function () packet.free(p) end)

  it("has libmoon's fields and methods", function ()
    p.udata64 = 2^40
    assert.equal(2^40, tonumber(p.note64[0]))
    p.data_len = 50
    assert.equal(50, p.length)
    p.pkt.pkt_len, p.pkt.data_len = 40, 40 -- of 2015
    assert.equal(40, p:getSize())
    assert.equal(p:getBytes(), p.pkt.data)
    p.data_len = 50
    assert.equal(50, p:getSize())
    p:setSize(70)
    assert.equal(70, p.pkt_len)
    p:setRawPacket("abc")
    assert.equal("abc", ffi.string(p:getData(), p:getSize()))
    assert.equal(97, p:getBytes()[0])
    assert.is_nil(p:getVlan())
    p:setVlan(5, 3, 1)
    assert.same({5, 3, 1}, {p:getVlan()})
    assert.error_matches(function () p:setSize(70000) end, "this buffer holds 0 to")
    assert.error_matches(function () p:setRawPacket(5) end, "takes a string")
  end)

  it("is found in scripts' declarations under libmoon's name", function ()
    assert.equal(ffi.typeof("struct packet *"), script_ffi.typeof("struct rte_mbuf*"))
    assert.equal(ffi.sizeof("struct packet"), script_ffi.sizeof("struct rte_mbuf"))
    script_ffi.cdef("struct mg_spec_pair { struct rte_mbuf *first, *bufs[2]; };"
      .. " typedef int mg_spec_int;")
    local pair = script_ffi.new("struct mg_spec_pair")
    pair.first = p
    assert.is_true(pair.first == p)
    assert.equal(60, script_ffi.cast("struct rte_mbuf *", pair.first).data_len)
    assert.is_true(script_ffi.istype("struct rte_mbuf", p))
    local mac = script_ffi.new("union mac_address")
    mac:setString("02:00:00:00:00:01")
    assert.equal(6, ffi.sizeof(mac))
    assert.equal(3, ffi.sizeof(script_ffi.new("uint8_t[?]", 3)))
  end)

  it("takes what is declared twice, and what is new beside it", function ()
    script_ffi.cdef("struct mg_spec_once { int a; };")
    script_ffi.cdef("struct mg_spec_once { int a; }; // ;\nint mg_spec_new(int);")
    assert.is_true((pcall(ffi.typeof, "struct mg_spec_once")))
    assert.error_matches(function () script_ffi.cdef("struct {") end, "expected")
  end)

  it("leaves scripts their own types under names that ours have", function ()
    assert.is_not_nil(ffi.sizeof("struct counter"))
    script_ffi.cdef("struct __attribute__((packed)) counter { uint8_t mine[3]; };")
    assert.equal(3, script_ffi.sizeof("struct counter"))
    assert.equal(8, ffi.sizeof("struct counter"))
    script_ffi.metatype("struct counter", {__index = {get = function () return 5 end}})
    assert.equal(5, script_ffi.new("struct counter"):get())
  end)

  it("gets methods that scripts add", function ()
    function methods.mgSpecTwice(self) return 2 * self:getSize() end
    assert.equal(120, p:mgSpecTwice())
    methods.mgSpecTwice = nil
  end)
end)

describe("what is left to the device", function ()
  local arrays = {}
  offload.add_to(nil, arrays)

  local function check(bufs)
    C.mg_spec_offload(bufs.array, bufs.size)
    for i = 0, bufs.size - 1 do
      assert.same({true}, {stack.resolve(bufs.array[i]):verify()})
      assert.is_true(bufs.array[i].ol_flags == 0)
    end
  end

  it("are checksums, of any length and content", function ()
    for _, case in ipairs{{"getUdpPacket", "offloadUdpChecksums", "udp"},
      {"getTcpPacket", "offloadTcpChecksums", "tcp"}} do
      for _, ip4 in ipairs{true, false} do
        for size = 74, 200, 21 do
          local bufs = array_of(3, size)
          for i = 0, 2 do
            for k = 0, size - 1 do bufs.array[i].data[k] = math.random(0, 255) end
            local pkt = bufs.array[i][case[1]](bufs.array[i], ip4)
            pkt:fill{pktLength = size}
            if ip4 then pkt.ip4.src:set(math.random(2^32) - 1) end
            pkt[case[3]]:setChecksum(0x1234)
          end
          arrays[case[2]](bufs, ip4, nil, nil, 3)
          check(bufs)
          free(bufs)
        end
      end
    end
  end)

  it("is a checksum of 0xffff where it would be 0", function ()
    local bufs = array_of(1, 60)
    local pkt = bufs.array[0]:getUdpPacket()
    local port = 0
    for _, expected in ipairs{false, 0xffff} do
      ffi.fill(bufs.array[0].data, 60)
      pkt:fill{pktLength = 60, udpSrc = port}
      bufs.array[0]:offloadUdpChecksum()
      C.mg_spec_offload(bufs.array, 1)
      port = pkt.udp:getChecksum()
      assert.equal(expected or port, port)
    end
    free(bufs)
  end)

  it("is IPv4's alone, with options or a tag before it", function ()
    local as = require("moongen.packets.stack").create({"eth", subType = "vlan"},
      {"ip4", length = 8}, "udp")
    local bufs = array_of(1, 100)
    as(bufs.array[0]):fill{pktLength = 100}
    arrays.offloadIPChecksums(bufs, true, 18, 28)
    check(bufs)
    as(bufs.array[0]):fill{pktLength = 100}
    arrays.offloadUdpChecksums(bufs, true, 18, 28)
    check(bufs)
    free(bufs)
  end)

  it("leaves packets that are no such packets", function ()
    for size = 0, 41 do
      local bufs = array_of(1, size)
      ffi.fill(bufs.array[0].data, size, 0x75)
      local before = ffi.string(bufs.array[0].data, size)
      bufs.array[0]:offloadUdpChecksum()
      C.mg_spec_offload(bufs.array, 1)
      assert.equal(before, ffi.string(bufs.array[0].data, size))
      free(bufs)
    end
  end)

  it("is a tag, which is taken out of a template again", function ()
    local pool = assert(pools.new(1, 60, -1))
    local bufs = array_of(0, 60)
    bufs.array, bufs.size, bufs.maxSize = ffi.new("struct packet *[1]"), 1, 1
    assert.equal(0, C.mg_alloc(pool, bufs.array, 1, 60))
    local p = bufs.array[0]
    p:getUdpPacket():fill{pktLength = 60}
    local before = ffi.string(p.data, 60)
    arrays.setVlans(bufs, 5, 1)
    C.mg_spec_offload(bufs.array, 1)
    assert.same({64, 64}, {p.length, p.pkt_len})
    assert.equal(before:sub(1, 12) .. "\x81\0\x20\5" .. before:sub(13),
      ffi.string(p.data, 64))
    assert.equal(0, C.mg_free(bufs.array, 1))
    assert.equal(0, C.mg_alloc(pool, bufs.array, 1, 60))
    assert.equal(p, bufs.array[0])
    assert.equal(before, ffi.string(p.data, 60))
    C.mg_free(bufs.array, 1)
  end)

  it("is refused where it can't be", function ()
    local bufs = array_of(2, 60)
    local ask = arrays.offloadUdpChecksums
    assert.error_matches(function () ask(bufs, true, 14, 20, 3) end,
      "room for 2 packets, not 3")
    assert.error_matches(function () ask(bufs, true, 200) end,
      "begins after 0 to 127 bytes")
    free(bufs)
    bufs.array[1] = nil
    arrays.offloadUdpChecksums(bufs) -- an array that isn't full
    assert.is_true(bit.band(bufs.array[0].ol_flags, 1) == 0)
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
-- The header classes against literal bytes.

local ffi = require("ffi")
local guard = require("testing.fuzz.guard")
local lib = require("core.lib")

local function class(name) return require("lib.protocol." .. name) end

local ethernet, ipv4, ipv6 = class("ethernet"), class("ipv4"), class("ipv6")
local tcp, udp, gre = class("tcp"), class("udp"), class("gre")
local icmp = class("icmp.header")

local function hex(proto)
  return (ffi.string(proto:header_ptr(), proto:sizeof()):gsub(".", function (c)
    return ("%02x"):format(c:byte())
  end))
end

local bytes = require("net.wire.bytes").from_hex

describe("addresses", function ()
  it("are converted both ways", function ()
    local cases = {
      {ethernet, "02:00:5e:ff:0a:01"}, {ipv4, "192.0.2.255"},
      {ipv6, "2001:db8::ff00:42"}, {ipv6, "::"},
    }
    for _, case in ipairs(cases) do
      assert.equal(case[2], case[1]:ntop(case[1]:pton(case[2])))
    end
  end)

  it("that are none are refused", function ()
    for _, text in ipairs{"", "02:00", "02:00:00:00:00:0", "02:00:00:00:00:01:",
                          "02:00:00:00:00:01:02", "0x:00:00:00:00:01"} do
      assert.has_error(function () ethernet:pton(text) end)
    end
    assert.same({false, "malformed IPv4 address: 192.0.2.256"},
      {ipv4:pton("192.0.2.256")})
    assert.same({false, "malformed IPv6 address: 2001::db8::"},
      {ipv6:pton("2001::db8::")})
    assert.has_error(function () ipv4:pton_cidr("192.0.2.1") end)
    assert.has_error(function () ipv6:pton_cidr("::/") end)
  end)

  it("have prefixes and multicast forms", function ()
    local prefix, length = ipv4:pton_cidr("192.0.2.0/24")
    assert.same({"192.0.2.0", 24}, {ipv4:ntop(prefix), length})
    local group = ipv6:solicited_node_mcast(ipv6:pton("2001:db8::1:2345:6789"))
    assert.equal("ff02::1:ff45:6789", ipv6:ntop(group))
    assert.equal("33:33:ff:45:67:89", ethernet:ntop(ethernet:ipv6_mcast(group)))
    assert.has_error(function () ethernet:ipv6_mcast(ipv6:pton("::1")) end)
    assert.is_true(ethernet:is_mcast(ethernet:pton("01:00:00:00:00:00")))
    assert.is_false(ethernet:is_mcast(ethernet:pton("fe:00:00:00:00:00")))
    assert.is_true(ethernet:is_bcast(ethernet:pton("ff:ff:ff:ff:ff:ff")))
  end)
end)

describe("headers", function ()
  it("are made as the standards say", function ()
    local a, b = ipv4:pton("192.168.20.169"), ipv4:pton("107.21.240.180")
    local h = ipv4:new{src = a, dst = b, id = 0x591a, flags = 2, ttl = 64,
      protocol = 6}
    h:total_length(52)
    assert.equal(0xb08e, h:checksum())
    assert.equal("45000034591a40004006b08ec0a814a96b15f0b4", hex(h))
    assert.equal("60212345000011010000000000000000000000000000000100000000000000000"
      .. "0000000000000ff", (function ()
        local v6 = ipv6:new{src = ipv6:pton("::1"), dst = ipv6:pton("::ff"),
          traffic_class = 2, flow_label = 0x12345, next_header = 17, hop_limit = 1}
        return hex(v6)
      end)())
    assert.equal("0000000000000009" .. "06aa", hex(class("esp"):new{seq_no = 9})
      .. hex(class("esp_tail"):new{pad_length = 6, next_header = 170}))
    assert.equal("2064" .. "86dd", hex(class("dot1q"):new{id = 0x2064, type = 0x86dd}))
    assert.equal("ffffffff" .. "3031323334353637", hex(class("keyed_ipv6_tunnel"):new{
      cookie = class("keyed_ipv6_tunnel"):new_cookie("01234567")}))
    assert.equal("20006558" .. "00000007", hex(gre:new{protocol = 0x6558, key = 7}))
    assert.equal("a0000800" .. "00000000" .. "ffffffff",
      hex(gre:new{protocol = 0x800, key = 0xffffffff, checksum = true}))
    assert.equal("0050" .. "ffff" .. "ffffffff" .. "00000001" .. "5112" .. "0400"
      .. "00000000", hex(tcp:new{src_port = 80, dst_port = 65535, seq_num = 2 ^ 32 - 1,
        ack_num = 1, offset = 5, ns = 1, ack = 1, syn = true, window_size = 1024}))
  end)

  it("keep what is beside a field that is set", function ()
    local h = ipv6:new{}
    ffi.fill(h:header_ptr(), 40, 0xff)
    h:dscp(0)
    assert.equal("f03fffff", hex(h):sub(1, 8))
    h:flow_label(0)
    assert.equal("f0300000", hex(h):sub(1, 8))
    assert.same({15, 3, 3, 0}, {h:version(), h:traffic_class(), h:ecn(),
      h:flow_label()})
    local na = class("icmp.nd.na"):new(ipv6:pton("::1"), true, 0, 1)
    assert.same({1, 0, 1}, {na:router(), na:solicited(), na:override()})
    assert.equal("a0000000", hex(na):sub(1, 8))
  end)

  it("have checksums over a pseudo header", function ()
    local frame = lib.hexundump([[
      52:54:00:02:02:02 52:54:00:01:01:01 08 00 45 00
      00 34 59 1a 40 00 40 06 b0 8e c0 a8 14 a9 6b 15
      f0 b4 de 0b 01 bb e7 db 57 bc 91 cd 18 32 80 10
      05 9f 00 00 00 00 01 01 08 0a 06 0c 5c bd fa 4a
      e1 65]], 66)
    local memory = ffi.new("uint8_t[66]", frame)
    local ip = ipv4:new_from_mem(memory + 14, 52)
    local h = tcp:new_from_mem(memory + 34, 32)
    assert.equal(0x382a, h:checksum(memory + 54, 12, ip))
    assert.equal(0x382a, h:checksum())
    -- The sum over everything is then 0, as receivers check.
    local ping = icmp:new(128, 0)
    ping:checksum(memory, 66)
    assert.is_true(ping:checksum_check(memory, 66))
    memory[3] = memory[3] + 1
    assert.is_false(ping:checksum_check(memory, 66))
    local u = udp:new{src_port = 1, dst_port = 2}
    assert.equal(0, u:checksum())
    assert.equal(8, u:length())
    local g = gre:new{protocol = 0x800, checksum = true}
    g:checksum(memory, 66)
    assert.is_true(g:checksum_check(memory, 66))
    assert.is_false(g:checksum_check(memory, 65))
    assert.is_nil(gre:new{}:checksum(memory, 66))
    assert.is_nil(gre:new{}:key(4))
  end)

  it("lead from one to the next", function ()
    assert.equal(ipv6, ethernet:new{type = 0x86dd}:upper_layer())
    assert.equal(class("dot1q"), ethernet:new{type = 0x8100}:upper_layer())
    assert.equal(tcp, ipv4:new{protocol = 6}:upper_layer())
    assert.equal(icmp, ipv6:new{next_header = 58}:upper_layer())
    assert.equal(class("icmp.nd.na"), icmp:new(136, 0):upper_layer())
    assert.is_nil(ethernet:new{type = 0x88cc}:upper_layer())
    assert.is_nil(tcp:new{}:upper_layer())
    assert.is_nil(class("esp"):new{spi = 1}:upper_layer())
  end)

  it("are copied, moved and cloned", function ()
    local h = udp:new{src_port = 7, dst_port = 9}
    local memory = ffi.new("uint8_t[8]")
    h:copy(memory)
    h:src_port(8)
    assert.equal(7, memory[1])
    h:copy(memory, true)
    h:src_port(9)
    assert.equal(9, memory[1])
    local copy = h:clone()
    collectgarbage()
    assert.is_true(copy:eq(h))
    copy:src_port(1)
    assert.is_false(copy:eq(h))
    assert.equal(9, memory[1])
  end)

  it("are only there where there is room, and recycled", function ()
    local memory = ffi.new("uint8_t[64]")
    for _, name in ipairs{"ethernet", "dot1q", "ipv4", "ipv6", "tcp", "udp", "esp",
                          "esp_tail", "icmp.header", "icmp.ptb", "icmp.nd.ns",
                          "icmp.nd.na"} do
      local c = class(name)
      assert.is_nil(c:new_from_mem(memory, c:sizeof() - 1))
      local object = c:new_from_mem(memory, c:sizeof())
      object:free()
      assert.equal(object, c:new_from_mem(memory, c:sizeof()))
    end
    -- Session 0 is L2TP's own; GRE's size depends on its flags.
    local tunnel = class("keyed_ipv6_tunnel")
    assert.is_nil(tunnel:new_from_mem(memory, 12))
    assert.has_error(function () tunnel:new{session_id = 0} end)
    for flags, size in pairs{[0] = 4, [0x20] = 8, [0x80] = 8, [0xa0] = 12} do
      memory[0] = flags
      assert.is_nil(gre:new_from_mem(memory, size - 1))
      assert.equal(size, gre:new_from_mem(memory, size):sizeof())
    end
    for _, flags in ipairs{0x10, 0x40, 0x08, 0x01} do
      memory[0] = flags
      assert.is_nil(gre:new_from_mem(memory, 64))
    end
  end)
end)

describe("options of neighbour discovery", function ()
  local ns, tlv = class("icmp.nd.ns"), class("icmp.nd.options.tlv")

  local function options(text)
    local s = bytes(text)
    local memory = ffi.new("uint8_t[?]", math.max(#s, 1))
    ffi.copy(memory, s, #s)
    local list, problem = ns:new(ipv6:pton("::1")):options(memory, #s)
    return list, problem, memory
  end

  it("are made and found", function ()
    local mac = ethernet:pton("02:00:00:00:00:07")
    local option = tlv:new(2, mac)
    assert.equal("tgt_ll_addr", option:name())
    assert.equal(bytes("0201 020000000007"), ffi.string(option:tlv(), 8))
    assert.equal(bytes("0101 020000000007"), ffi.string(
      tlv:new(1, class("icmp.nd.options.lladdr"):new(mac)):tlv(), 8))
    local list, problem, memory = options("0101 020000000008  0e02" .. ("00"):rep(14)
      .. "0201 020000000009")
    assert.is_nil(problem)
    assert.equal(2, #list)
    assert.same({1, 1, 2}, {list[1]:type(), list[1]:length(), list[2]:type()})
    assert.equal("02:00:00:00:00:09", ethernet:ntop(list[2]:option():addr()))
    list[1]:type(2)
    list[1]:option():addr(mac)
    assert.equal(bytes("0201 020000000007"), ffi.string(memory, 8))
  end)

  it("that are none are told of, without an end of the program", function ()
    for _, text in ipairs{"0100 020000000008", "0102 020000000008", "01", "0101",
                          "0101 0200000000", "0101 020000000008 01"} do
      local list, problem = options(text)
      assert.same({}, list)
      assert.matches("^an option", problem)
    end
    assert.has_error(function () tlv:new(3, ethernet:pton("02:00:00:00:00:07")) end)
    assert.has_error(function () tlv:new(1, ffi.new("uint8_t[7]")) end)
  end)

  it("stay within the packet, whatever the bytes #slow", function ()
    local p = guard.packet()
    local buffer = ffi.new("uint8_t[64]")
    math.randomseed(7)
    local found, refused = 0, 0
    for _ = 1, 20000 do
      local n = math.random(0, 64)
      for i = 0, n - 1 do buffer[i] = math.random(0, 3) end
      guard.place(p, buffer, n, math.random() < 0.5)
      local list, problem = ns.options(ns, p.data, n)
      found = found + #list
      refused = refused + (problem and 1 or 0)
    end
    guard.free(p)
    assert.is_true(found > 0 and refused > 0)
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
-- ICMP errors: the packet that they quote is resolved as far as it goes, and left
-- alone.

local ffi = require("ffi")
local packet = require("core.packet")
local stack = require("lib.stack")

local function quoting(ip, upper)
  return {{ip, name = "old"}, {upper, name = "what"}}
end

-- {createStack's arguments up to the error, the quoted packet's}
local ERRORS = {
  {{"eth", "ip4", "icmp", "icmperror"}, quoting("ip4", "tcp")},
  {{"eth", "ip4", "icmp", "icmpredirect"}, quoting("ip4", "udp")},
  {{"eth", "ip6", "icmp6", "icmp6error"}, quoting("ip6", "udp")},
}

-- An ICMP error that quotes `n` bytes of an IP packet with 1,000 bytes of payload.
local function new_error(head, quoted, n)
  local old = packet.allocate()
  local original = stack.createStack("eth", unpack(quoted))(old)
  original:fill{pktLength = 1054, whatSrc = 1234, whatDst = 9}
  original:calculateChecksums()
  local as = stack.createStack(unpack(head))
  local p = packet.allocate()
  as(p):fill{pktLength = as.size + n}
  ffi.copy(p.data + as.size, old.data + 14, n)
  as(p):calculateChecksums()
  local bytes = ffi.string(old.data + 14, n)
  packet.free(old)
  return p, as, bytes
end

describe("an ICMP error", function ()
  it("is resolved to the packet that it quotes, as far as that goes", function ()
    for _, case in ipairs(ERRORS) do
      local head, quoted = unpack(case)
      local ip, what = quoted[1][1], quoted[2][1]
      local whole = table.concat(head, "_") .. "_" .. ip
      for n = 0, 100 do
        local p = new_error(head, quoted, n)
        local view = stack.resolve(p)
        local ip_size = ip == "ip4" and 20 or 40
        local what_size = what == "tcp" and 20 or 8
        local name = n < ip_size and table.concat(head, "_")
          or n < ip_size + what_size and whole or whole .. "_" .. what
        assert.equal(name, view:getName())
        assert.is_nil(view.problem)
        assert.is_true(view:verify())
        if n >= ip_size + what_size then
          local inner = "inner" .. what:gsub("^.", string.upper)
          assert.equal(1234, (view[inner] or view[what]):getSrcPort())
        end
        packet.free(p)
      end
    end
  end)

  it("leaves lengths and checksums of what it quotes as they were", function ()
    for _, case in ipairs(ERRORS) do
      local head, quoted = unpack(case)
      local p, as, bytes = new_error(head, quoted, 60)
      local items = {unpack(head)}
      for _, item in ipairs(quoted) do items[#items + 1] = item end
      local whole = stack.createStack(unpack(items))
      assert.is_truthy(whole.check(p))
      for _, form in ipairs{whole(p), stack.resolve(p)} do
        form:setLength(p.length)
        form:calculateChecksums()
        assert.equal(bytes, ffi.string(p.data + as.size, 60))
        assert.is_true(form:verify())
      end
      packet.free(p)
    end
  end)

  it("tells a quoted packet of another version", function ()
    local p, as = new_error(ERRORS[1][1], ERRORS[1][2], 60)
    p.data[as.size] = 0x65
    as(p):calculateChecksums()
    local ok, sentences = stack.resolve(p):verify()
    assert.is_false(ok)
    assert.equal("innerIp4: Version is 6, not 4", sentences[1])
    packet.free(p)
  end)
end)

describe("groups and tags", function ()
  it("set addresses of the headers they lie in, not of a tunnel's", function ()
    local p = packet.allocate()
    local function filled(...)
      p.length = 0
      local pkt = stack.createStack(...)(p)
      pkt:fill{}
      return pkt
    end
    local pkt = filled("eth", "ip4", "ospf", "ospfhello")
    assert.equal("01:00:5e:00:00:05", pkt.eth:getDstString())
    assert.equal("224.0.0.5", pkt.ip4:getDstString())
    assert.equal(1, pkt.ip4:getTTL())
    pkt = filled("eth", {"ip4", name = "outer"}, "gre", "ip4", "vrrp")
    assert.equal("192.168.1.2", pkt.outer:getDstString())
    assert.equal("224.0.0.18", pkt.ip4:getDstString())
    pkt = filled({"eth", subType = "dot3"}, "llc", "stp")
    assert.equal("01:80:c2:00:00:00", pkt.eth:getDstString())
    assert.equal(0x42, pkt.llc:getSSAP())
    pkt = filled("eth", "ip4", "udp", "vxlan", {"eth", name = "inner"}, "lldp")
    assert.equal("02:00:00:00:00:02", pkt.eth:getDstString())
    assert.equal("01:80:c2:00:00:0e", pkt.inner:getDstString())
    assert.equal(0x8863, filled("eth", "pppoe", "pppoetag").eth:getType())
    assert.equal(0x8864, filled("eth", "pppoe", "ppp").eth:getType())
    pkt = filled("eth", "vlan", "pppoe", "pppoetag")
    assert.equal(0x8100, pkt.eth:getType())
    assert.equal(0x8863, pkt.vlan:getType())
    pkt = filled("eth", "mpls", "ip4", "gre", "pppoe", "pppoetag")
    assert.equal(0x8847, pkt.eth:getType())
    packet.free(p)
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
-- Two stations, as each other's peers, of either family; what they send is compared
-- with Scapy's bytes in arp_spec and nd_spec, and byte by byte in apps/vtep/host_spec.

local ffi = require("ffi")
local ip6 = require("net.ip.ip6")
local nd = require("net.neighbor.nd")
local packet = require("core.packet")
local station = require("net.neighbor.station")

local function pair(family, prefix)
  local function one(last)
    return {family = family, mac = "\2\0\0\0\0" .. last, address = prefix .. last}
  end
  return one("\1"), one("\2")
end

local function read(s, p)
  local heard = station.read(s, p)
  packet.free(p)
  return heard
end

describe("net.neighbor.station", function ()
  it("believes no advertisement in its own name", function ()
    local a, b = pair(6, "\32\1\13\184" .. ("\0"):rep(11))
    local asked = station.request(a, b.address)
    local p = nd.advertisement(b.mac, b.address, asked.data, 0)
    assert.equal(b.address, station.read(a, p).address)
    ffi.copy(p.data + nd.SOURCE, a.address, 16)
    ffi.fill(p.data + 56, 2)
    local sum = ip6.checksum(p.data, ip6.ICMP, 32)
    p.data[56], p.data[57] = math.floor(sum / 256), sum % 256
    assert.equal(nd.ADVERTISEMENT, nd.kind(p.data, p.length))
    assert.truthy(nd.read(p.data, nd.ADVERTISEMENT))
    assert.is_nil(read(a, p))
    packet.free(asked)
  end)

  local prefixes = {[4] = "\192\0\2", [6] = "\32\1\13\184" .. ("\0"):rep(11)}
  for family, prefix in pairs(prefixes) do
    it("asks, answers and hears: IPv" .. family, function ()
      local a, b = pair(family, prefix)
      local asked = read(b, station.request(a, b.address))
      assert.same({a.mac, a.address}, {asked.mac, asked.address})
      local heard = read(a, asked.answer)
      assert.same({mac = b.mac, address = b.address}, heard)
      assert.is_nil(read(b, station.request(a, prefix .. "\3")).answer)
    end)

    it("believes nobody who has its own address, or nothing: IPv" .. family, function ()
      local a = pair(family, prefix)
      assert.is_nil(read(a, station.request(a, prefix .. "\3")))
      assert.is_nil(read(a, packet.from_string("")))
      local p = station.request(a, prefix .. "\3")
      ffi.fill(p.data, p.length)
      assert.is_nil(read(a, p))
    end)
  end
end)

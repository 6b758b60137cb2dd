-- SPDX-License-Identifier: Apache-2.0

local DecTtl = require("apps.ip.dec_ttl.dec_ttl").DecTtl
local ffi = require("ffi")
local packet = require("core.packet")

local app = DecTtl:new()

-- The checksum of an IPv4 header at `data` (RFC 1071), its own field left out.
local function checksum(data)
  local sum = 0
  for i = 0, 18, 2 do
    if i ~= 10 then sum = sum + data[i] * 256 + data[i + 1] end
  end
  while sum > 0xffff do sum = sum % 0x10000 + math.floor(sum / 0x10000) end
  return 0xffff - sum
end

local function frame_of(ttl, protocol, id)
  local p = packet.resize(packet.allocate(), 60)
  local ip = p.data + 14
  ip[0], ip[3], ip[8], ip[9] = 0x45, 46, ttl, protocol
  ip[4], ip[5] = math.floor(id / 256), id % 256
  local sum = checksum(ip)
  ip[10], ip[11] = math.floor(sum / 256), sum % 256
  return p
end

describe("DecTtl", function ()
  it("keeps the checksum what it would be made anew", function ()
    -- The identification walks the checksum through all its values.
    for id = 0, 65535 do
      local p = frame_of(2 + id % 254, 17, id)
      assert(app:process(p) == p)
      local ip = p.data + 14
      if ip[8] ~= 1 + id % 254 or ip[10] * 256 + ip[11] ~= checksum(ip) then
        assert.equal(checksum(ip), ip[10] * 256 + ip[11], "identification " .. id)
      end
      packet.free(p)
    end
  end)

  it("drops what is at its end, untouched", function ()
    for ttl = 0, 1 do
      local p = frame_of(ttl, 6, 1)
      local before = ffi.string(p.data, 60)
      local q, reason = app:process(p)
      assert.is_nil(q)
      assert.equal("ttl_expired", DecTtl.drops[reason])
      assert.equal(before, ffi.string(p.data, 60))
      packet.free(p)
    end
  end)

  it("touches nothing of a packet without room for the header", function ()
    for length = 0, 33 do
      local p = frame_of(9, 6, 1)
      p.length = length
      local q, reason = app:process(p)
      assert.is_nil(q)
      assert.equal("short", DecTtl.drops[reason])
      assert.equal(9, p.data[22])
      packet.free(p)
    end
  end)
end)

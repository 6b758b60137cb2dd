-- SPDX-License-Identifier: Apache-2.0
-- Rewriter on frames whose lengths lie. (What it makes of sound ones:
-- test/test_replay_rewrite.py, with Scapy, tshark and tcprewrite.)

local C = require("core.declare")("net/ip/transport.h")
local Rewriter = require("apps.rewrite.rewriter").Rewriter
local ffi = require("ffi")
local maps = require("apps.rewrite.maps")
local packet = require("core.packet")

local ALL = {map_ip = "0.0.0.0/0:10.0.0.0/8,[::/0]:[fd00::/16]", map_port = "0-65535:7",
  map_mac = "02:00:00:00:00:01=02:00:00:00:00:02", fix_checksums = true}

-- A frame of IPv4 or IPv6 that says it carries `protocol`, and random bytes.
local function frame(next_byte, version, protocol, size)
  local bytes = {}
  for i = 1, size do bytes[i] = next_byte() end
  bytes[13], bytes[14] = version == 4 and 0x08 or 0x86, version == 4 and 0x00 or 0xdd
  bytes[15] = version == 4 and 0x45 + next_byte() % 4 or 0x60
  bytes[version == 4 and 24 or 21] = protocol
  for i = #bytes, size + 1, -1 do bytes[i] = nil end
  return string.char(unpack(bytes))
end

describe("apps.rewrite", function ()
  it("changes nothing behind a frame's end, whatever its lengths say", function ()
    local app, next_number = Rewriter:new(ALL), math.random
    math.randomseed(41)
    local function next_byte() return next_number(0, 255) end
    for _, protocol in ipairs{1, 6, 17, 58, 132, 33, 136, 0, 43, 44, 51, 60} do
      for _ = 1, 200 do
        local size = next_number(15, 120)
        local version = next_number(0, 1) * 2 + 4
        local p = packet.from_string(frame(next_byte, version, protocol, size))
        ffi.fill(p.data + p.length, 64, 0xa5)
        assert.equal(p, app:process(p))
        assert.equal(size, p.length)
        for i = 0, 63 do assert.equal(0xa5, p.data[size + i]) end
        packet.free(p)
      end
    end
  end)

  it("takes nothing that isn't there for a header", function ()
    local t, bytes = ffi.new("struct transport"), ffi.new("uint8_t[64]")
    for n = 0, 64 do assert.is_false(C.pg_transport(t, bytes, n)) end
  end)

  it("reads what is changed into what", function ()
    assert.same({{first = 1000, last = 1999, to = 3000, step = 1},
                 {first = 8000, last = 8020, to = 80, step = 0}},
                maps.port("1000-1999:3000-3999,8000-8020:80"))
    assert.same({add = 100, priority = 5}, maps.vlan("add:100:5"))
    assert.is_nil(maps.vlan("add:100:9"))
    assert.is_nil(maps.ip("10.0.0.0/8:"))
  end)
end)

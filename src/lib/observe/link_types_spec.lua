-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local blocks = require("lib.pcap.blocks")
local checksum = require("net.checksum.checksum")
local format = require("lib.pcap.format")
local link_types = require("lib.observe.link_types")

local ETHERNET = ("\2"):rep(12) .. "\8\0" .. ("x"):rep(46)

local function ip4()
  local bytes = ffi.new("uint8_t[20]", {0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17})
  local sum = checksum.of(bytes, 20)
  bytes[10], bytes[11] = bit.rshift(sum, 8), bit.band(sum, 255)
  return ffi.string(bytes, 20)
end

local function packet(interface, data)
  local total = blocks.packet_bytes(#data, 0)
  local bytes = ffi.new("uint8_t[?]", total)
  blocks.write_packet(bytes, total, interface, data, #data, #data, 0ULL)
  return ffi.string(bytes, total)
end

-- Each block's type: "e" and "r" for a description of Ethernet or IP, the number of the
-- interface for a packet.
local function written(types, list)
  local text, found, at = "", {}, 1
  for _, item in ipairs(list) do
    local kind = blocks.at(item, 1)
    text = text .. types:take(kind, item)
  end
  text = text .. types:rest()
  while at <= #text do
    local kind, length = blocks.at(text, at)
    local low = text:byte(at + 8)
    found[#found + 1] = kind == format.INTERFACE_DESCRIPTION
      and (low == 101 and "r" or low == 1 and "e") or kind == format.ENHANCED_PACKET
      and tostring(low) or kind == format.SECTION_HEADER and "s" or "?"
    at = at + length
  end
  return table.concat(found)
end

describe("the types of captured links", function ()
  local function begin() return blocks.section(), blocks.interface("a", 100),
    blocks.interface("b", 100) end

  it("are Ethernet or IP, as the first packet is", function ()
    local s, a, b = begin()
    assert.equal("see01?", written(link_types.new(), {s, a, b, packet(0, ETHERNET),
      packet(1, ETHERNET), blocks.statistics(0, 0ULL, 2ULL, 0ULL, "")}))
    assert.equal("srr10", written(link_types.new(), {s, a, b, packet(1, ip4()),
      packet(0, ip4())}))
  end)

  it("are two where a link has both", function ()
    local s, a, b = begin()
    assert.equal("see0r2102", written(link_types.new(), {s, a, b, packet(0, ETHERNET),
      packet(0, ip4()), packet(1, ETHERNET), packet(0, ETHERNET), packet(0, ip4())}))
  end)

  it("are Ethernet where no packet came", function ()
    local s, a, b = begin()
    assert.equal("see", written(link_types.new(), {s, a, b}))
    assert.equal("see?", written(link_types.new(), {s, a, b,
      blocks.statistics(0, 0ULL, 0ULL, 0ULL, "")}))
  end)
end)

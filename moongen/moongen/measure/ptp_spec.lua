-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local ptp = require("moongen.measure.ptp")

-- A frame of these parts (text with \n for 0 bytes isn't needed: hex).
local function frame(hex)
  local data = hex:gsub("%s", ""):gsub("..", function (h)
    return string.char(tonumber(h, 16))
  end)
  local bytes = ffi.new("uint8_t[?]", #data)
  ffi.copy(bytes, data, #data)
  return bytes, #data
end

local MACS = "010203040506 0708090a0b0c"
local HEADER = "0002002c" .. ("00"):rep(26) .. "1234 0000" -- sequence 0x1234
local IP4 = "4500 0000 0000 0000 4011 0000 0a000001 0a000002"
local IP6 = "60000000 0000 11 40" .. ("00"):rep(32)
local TCP_IP4 = IP4:gsub("4011", "4006")
local UDP = "0400 013f 0000 0000"

describe("PTP", function ()
  for name, text in pairs{
    ["over Ethernet"] = MACS .. "88f7" .. HEADER,
    ["behind a VLAN tag"] = MACS .. "8100 0001 88f7" .. HEADER,
    ["over UDP and IPv4"] = MACS .. "0800" .. IP4 .. UDP .. HEADER,
    ["over UDP and IPv6"] = MACS .. "8100 0001 86dd" .. IP6 .. UDP .. HEADER,
    ["behind IPv4 options"] =
      MACS .. "0800 46" .. IP4:sub(3) .. "01010100" .. UDP .. HEADER,
  } do
    it("is found " .. name, function ()
      local bytes, length = frame(text)
      assert.equal(0x1234, ptp.sequence(bytes, length))
      assert.is_true(ptp.set_sequence(bytes, length, 0xfffe))
      assert.equal(0xfffe, ptp.sequence(bytes, length))
      assert.is_nil(ptp.sequence(bytes, length - 1)) -- cut off
    end)
  end

  it("isn't found elsewhere", function ()
    for _, text in ipairs{MACS, MACS .. "0806" .. HEADER, "0102",
                          MACS .. "88f7 00ff" .. HEADER:sub(5),
                          MACS .. "0800" .. TCP_IP4 .. UDP .. HEADER} do
      local bytes, length = frame(text)
      assert.is_nil(ptp.sequence(bytes, length))
      assert.is_false(ptp.set_sequence(bytes, length, 1))
    end
  end)
end)

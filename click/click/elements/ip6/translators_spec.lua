-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

local A4, B4 = "\10\0\0\1", "\192\0\2\9"
local A6 = ("\0"):rep(10) .. "\255\255" .. A4
local B6 = ("\0"):rep(10) .. "\255\255" .. B4

local function v4(size, protocol, sum, payload)
  return "\69\0\0" .. string.char(size) .. "\0\0\64\0\9" .. string.char(protocol) .. sum
    .. A4 .. B4 .. payload
end

local function v6(size, protocol, payload)
  return "\96\0\0\0\0" .. string.char(size, protocol) .. "\9" .. A6 .. B6 .. payload
end

-- Pairs of IP(src="10.0.0.1", dst="192.0.2.9", ttl=9, id=0, flags="DF")/... and
-- IPv6(src="::ffff:10.0.0.1", dst="::ffff:192.0.2.9", hlim=9)/..., made by Scapy.
local PAIRS = {
  UDP = {v4(32, 17, "\165\195", "\0\1\0\2\0\12\91\6data"),
    v6(12, 17, "\0\1\0\2\0\12\91\6data")},
  TCP = {v4(44, 6, "\165\194", "\0\1\0\2\0\0\0\0\0\0\0\0\80\2\32\0\235\14\0\0data"),
    v6(24, 6, "\0\1\0\2\0\0\0\0\0\0\0\0\80\2\32\0\235\14\0\0data")},
  echo = {v4(32, 1, "\165\211", "\8\0\31\54\0\3\0\4data"),
    v6(12, 58, "\128\0\218\228\0\3\0\4data")},
  ["too big"] = {v4(32, 1, "\165\211", "\3\4\30\193\0\0\5\120data"),
    v6(12, 58, "\2\0\83\96\0\0\5\140data")},
}

local function translate(name, text)
  local unit = click.unit(name)
  local out = unit:send(text)[1]
  unit:free()
  return out and out[2]
end

describe("ProtocolTranslator46, ProtocolTranslator64", function ()
  it("translate each other's packets", function ()
    for name, pair in pairs(PAIRS) do
      local to6 = translate("ProtocolTranslator46", pair[1] .. "padding")
      local to4 = translate("ProtocolTranslator64", pair[2] .. "padding")
      assert.equal(pair[2], to6, name)
      assert.equal(pair[1], to4, name)
    end
  end)

  it("translate types and codes of ICMP", function ()
    local function icmp6(message)
      local text = translate("ProtocolTranslator46", v4(28, 1, "\0\0", message))
      return text and text:sub(41, 42) .. text:sub(45)
    end
    assert.equal("\129\0\0\3\0\4", icmp6("\0\0\0\0\0\3\0\4"))
    assert.equal("\1\4\0\0\0\0", icmp6("\3\3\0\0\0\0\0\0"))
    assert.equal("\4\1\0\0\0\6", icmp6("\3\2\0\0\0\0\0\0"))
    assert.equal("\3\1\0\0\0\0", icmp6("\11\1\0\0\0\0\0\0"))
    assert.equal("\4\0\0\0\0\7", icmp6("\12\0\0\0\8\0\0\0"))
    assert.is_nil(icmp6("\13\0\0\0\0\0\0\0"))
    local function icmp4(message)
      local text = translate("ProtocolTranslator64", v6(8, 58, message))
      return text and text:sub(21, 22) .. text:sub(25)
    end
    assert.equal("\3\3\0\0\0\0", icmp4("\1\4\0\0\0\0\0\0"))
    assert.equal("\12\0\8\0\0\0", icmp4("\4\0\0\0\0\0\0\7"))
    assert.equal("\3\2\0\0\0\0", icmp4("\4\1\0\0\0\0\0\6"):sub(1, 2) .. "\0\0\0\0")
    assert.equal("\11\0\0\0\0\0", icmp4("\3\0\0\0\0\0\0\0"))
    assert.is_nil(icmp4("\135\0\0\0\0\0\0\0"))
  end)

  it("drop what they can't translate", function ()
    local udp4, udp6 = PAIRS.UDP[1], PAIRS.UDP[2]
    for _, text in ipairs{udp4:sub(1, 31), udp4:sub(1, 19), udp6, "",
        udp4:sub(1, 6) .. "\32" .. udp4:sub(8), v4(24, 17, "\0\0", "shrt")} do
      assert.is_nil(translate("ProtocolTranslator46", text))
    end
    for _, text in ipairs{udp6:sub(1, 51), udp6:sub(1, 39), udp4,
        udp6:sub(1, 8) .. "\32" .. udp6:sub(10)} do
      assert.is_nil(translate("ProtocolTranslator64", text))
    end
  end)
end)

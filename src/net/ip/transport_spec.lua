-- SPDX-License-Identifier: Apache-2.0
-- Where what IP carries begins, in literal bytes: IPv4 (RFC 791), IPv6's extension
-- headers (RFC 8200, section 4), the authentication header (RFC 4302, section 2.2).

local C = require("core.declare")("net/ip/transport.h")
local ffi = require("ffi")

local UDP, ROUTING, FRAGMENT, AH, DESTINATION = 17, 43, 44, 51, 60
local ADDRESSES = ("\1"):rep(12)

-- What is found in the bytes.
local function of(text)
  local t, bytes = ffi.new("struct transport"), ffi.new("uint8_t[?]", #text)
  ffi.copy(bytes, text, #text)
  return C.pg_transport(t, bytes, #text) and t or nil
end

-- An IPv6 frame whose first header is `first`, with these bytes behind IPv6's.
local function ip6(first, text)
  return of(ADDRESSES .. "\134\221\96\0\0\0\0" .. string.char(#text, first, 64)
    .. ("\2"):rep(32) .. text)
end

local function ip4(options, fragment)
  return of(ADDRESSES .. "\8\0" .. string.char(0x45 + #options / 4, 0, 0,
    28 + #options, 0, 0, math.floor(fragment / 256), fragment % 256, 64, UDP)
    .. ("\0"):rep(10) .. options .. ("\0"):rep(8))
end

describe("net.ip.transport", function ()
  it("finds what follows IPv6's extension headers", function ()
    for name, case in pairs{
      ["nothing"] = {UDP, "", 54},
      ["destination options of 16 bytes"] =
        {DESTINATION, "\17\1" .. ("\0"):rep(14), 70},
      ["an authentication header of 24 bytes"] = {AH, "\17\4" .. ("\0"):rep(22), 78},
    } do
      local t = ip6(case[1], case[2] .. ("\0"):rep(8))
      assert.same({UDP, case[3], false, false},
        {t.protocol, t.l4, t.routed, t.fragment}, name)
    end
  end)

  it("says that a packet has addresses still to visit, however few", function ()
    for left, routed in pairs{[0] = false, true, true} do
      local header = string.char(UDP, 2, 0, left) .. ("\0"):rep(20)
      local t = ip6(ROUTING, header .. ("\0"):rep(8))
      assert.same({UDP, 78, routed}, {t.protocol, t.l4, t.routed})
    end
    assert.is_true(ip4("\131\7\4\0\0\0\0\0", 0).routed) -- loose source route
    assert.is_false(ip4("\1\1\1\1", 0).routed)
  end)

  it("tells where in its datagram a fragment is", function ()
    local function fragment6(word)
      return ip6(FRAGMENT, string.char(UDP, 0, math.floor(word / 256), word % 256)
        .. ("\0"):rep(12))
    end
    for word, expected in pairs{[0] = {0, false}, {0, true}, [16] = {16, true},
                                [0xfff9] = {0xfff8, true}} do
      local t = fragment6(word)
      assert.same(expected, {t.offset, t.fragment})
      assert.equal(62, t.l4)
    end
    for word, expected in pairs{[0] = {0, false}, [0x4000] = {0, false},
                                [0x2000] = {0, true}, [0x1fff] = {0xfff8, true}} do
      local t = ip4("", word)
      assert.same(expected, {t.offset, t.fragment})
    end
  end)

  it("ends where IP's length does, or the data before that", function ()
    local whole = ADDRESSES .. "\8\0\69\0\0\32\0\0\0\0\64\17" .. ("\0"):rep(10)
      .. ("\0"):rep(12)
    local padded, cut = of(whole .. "pad"), of(whole:sub(1, -2))
    assert.same({46, false}, {padded["end"], padded.cut})
    assert.same({45, true}, {cut["end"], cut.cut})
    assert.is_nil(of(whole:sub(1, 33))) -- no whole header
  end)
end)

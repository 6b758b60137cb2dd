-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local flow = require("apps.vtep.flow")

local MACS = "\2\0\0\0\0\1\2\0\0\0\0\2"

local function of(frame)
  local buffer = ffi.new("uint8_t[?]", #frame + 1)
  ffi.copy(buffer, frame, #frame)
  return flow.of(buffer, #frame)
end

-- An IPv4 header (its checksum is of no interest here) and what follows.
local function ip4(fields)
  return MACS .. "\8\0" .. (fields.first or "\69") .. (fields.tos or "\0")
    .. "\0\60\0\1" .. (fields.fragment or "\0\0") .. "\64"
    .. (fields.protocol or "\17") .. "\0\0" .. (fields.src or "\10\0\0\1")
    .. "\10\0\0\2" .. (fields.options or "") .. (fields.ports or "\1\2\3\4")
    .. (fields.rest or "payload")
end

local function ip6(fields)
  return MACS .. "\134\221" .. (fields.head or "\96\0\0\0") .. "\0\8"
    .. (fields.next or "\17") .. "\64" .. (fields.src or ("\32"):rep(16))
    .. ("\33"):rep(16) .. (fields.ports or "\1\2\3\4") .. "rest"
end

describe("apps.vtep.flow", function ()
  it("is the same for all packets of a flow", function ()
    assert.equal(of(ip4{}), (of(ip4{rest = "other", tos = "\255"})))
    assert.equal(of(ip6{}), (of(ip6{head = "\111\255\1\2"})))
    assert.equal(of(ip4{}), (of(ip4{first = "\70", options = "\1\1\1\0"})))
  end)

  it("differs between flows", function ()
    assert.not_equal(of(ip4{}), (of(ip4{ports = "\1\2\3\5"})))
    assert.not_equal(of(ip4{}), (of(ip4{ports = "\1\2\3\4", protocol = "\6"})))
    assert.not_equal(of(ip4{}), (of(ip4{src = "\10\0\0\3"})))
    assert.not_equal(of(ip6{}), (of(ip6{ports = "\1\2\3\5"})))
    assert.not_equal(of(ip6{}), (of(ip6{src = ("\32"):rep(15) .. "\31"})))
    assert.not_equal(of(MACS .. "\8\6"), (of(MACS:reverse() .. "\8\6")))
  end)

  it("takes no bytes for ports that are none", function ()
    for _, fragment in ipairs{"\32\0", "\0\1", "\32\9"} do
      assert.equal(of(ip4{fragment = fragment}),
                   (of(ip4{fragment = fragment, ports = "\9\9\9\9"})))
    end
    assert.equal(of(ip4{protocol = "\1"}),
                 (of(ip4{protocol = "\1", ports = "\9\9\9\9"})))
    assert.equal(of(ip6{next = "\44"}),
                 (of(ip6{next = "\44", ports = "\9\9\9\9"})))
  end)

  it("gives the DSCP and ECN byte", function ()
    assert.equal(0xb9, (select(2, of(ip4{tos = "\185"}))))
    assert.equal(0xb9, (select(2, of(ip6{head = "\107\144\0\0"}))))
    assert.equal(0, (select(2, of(MACS .. "\8\6" .. ("x"):rep(60)))))
  end)

  it("reads nothing behind the frame", function ()
    for _, frame in ipairs{ip4{}, ip6{}, ip4{first = "\79"}, MACS .. "\8\6"} do
      local one = ffi.new("uint8_t[200]")
      local other = ffi.new("uint8_t[200]")
      for length = 14, #frame do
        ffi.fill(one, 200, 0x11)
        ffi.fill(other, 200, 0xee)
        ffi.copy(one, frame, length)
        ffi.copy(other, frame, length)
        local h, tos = flow.of(one, length)
        assert.same({h, tos}, {flow.of(other, length)})
      end
    end
  end)

  it("spreads flows over the dynamic ports (RFC 6335)", function ()
    local seen, different = {}, 0
    for n = 0, 16383 do
      local ports = string.char(math.floor(n / 256), n % 256)
      local port = flow.port((of(ip4{ports = ports .. "\0\80"})))
      assert(port >= 49152 and port <= 65535)
      if not seen[port] then seen[port], different = true, different + 1 end
    end
    -- As many as throwing 16,384 balls into as many boxes hits: 63 %.
    assert(different > 0.61 * 16384 and different < 0.66 * 16384, different)
  end)
end)

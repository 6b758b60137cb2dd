-- SPDX-License-Identifier: Apache-2.0
-- Ingress and Encap: what goes out for a frame. (Scapy reads it in
-- test/test_vtep_files.py.)

local testing = require("testing.vtep")
local flow = require("apps.vtep.flow")

local bytes, with = testing.bytes, testing.with
local encapsulate = testing.encapsulate

local FRAME = bytes"ffffffffffff 020000000009 0806" .. ("x"):rep(46)
local IP_FRAME = bytes"020000000008 020000000009 0800"
  .. bytes"45b8002400004000 4011 0000 0a000001 0a000002 03e8 0050 0010 0000"
  .. ("x"):rep(8)

local function tagged(frame, tag)
  return frame:sub(1, 12) .. bytes("8100" .. tag) .. frame:sub(13)
end

-- The ports are the flow's: they are left out here.
local function without_port(packet, offset)
  local port = packet:byte(offset + 1) * 256 + packet:byte(offset + 2)
  assert(port >= flow.FIRST and port < flow.FIRST + flow.COUNT)
  return with(packet, offset, "\0\0")
end

describe("apps.vtep.encap", function ()
  it("puts Ethernet, IPv4, UDP and VXLAN before a frame", function ()
    local out = encapsulate(testing.tunnel(), FRAME)
    assert.equal(bytes([[020000000002 020000000001 0800
      4500 0060 0000 4000 4011 b689 c0000201 c0000202 0000 12b5 004c 0000
      08000000 00002a00]]) .. FRAME, without_port(out, 34))
  end)

  it("puts IPv6 there, with UDP's checksum or without", function ()
    local tunnel = testing.tunnel6{udp_checksum = false}
    local out = encapsulate(tunnel, FRAME)
    local label = out:sub(16, 18)
    assert.equal(bytes"020000000002 020000000001 86dd 60" .. label .. bytes([[004c 11 40
      20010db8000000000000000000000001 20010db8000000000000000000000002
      0000 12b5 004c 0000 08000000 00002a00]]) .. FRAME, without_port(out, 54))
    local summed = encapsulate(testing.tunnel6(), FRAME)
    assert.not_equal("\0\0", summed:sub(61, 62))
    assert.equal(out, with(summed, 60, "\0\0"))
    -- Its own checksum, also over IPv4: decapsulation checks it.
    local back = testing.tunnel6{address = "2001:db8::2/64", mac = "02:00:00:00:00:02",
                                 remotes = {}}
    assert.equal(FRAME, (testing.decapsulate(back, summed)))
  end)

  it("fills in every checksum so that the sum is right #slow", function ()
    for n = 0, 2000, 40 do
      local frame = with(FRAME, 20, string.char(n % 256, math.floor(n / 256)))
        .. ("y"):rep(n % 97)
      for _, of in ipairs{"tunnel", "tunnel6"} do
        local away = testing[of]{udp_checksum = true, dscp = n % 64}
        local back = of == "tunnel"
          and testing.tunnel{address = "192.0.2.2/24", mac = "02:00:00:00:00:02",
                             remotes = {}}
          or testing.tunnel6{address = "2001:db8::2/64", mac = "02:00:00:00:00:02",
                             remotes = {}}
        assert.equal(frame, (testing.decapsulate(back, encapsulate(away, frame))))
      end
    end
  end)

  it("copies ECN, and DSCP when asked to", function ()
    local function tos(changes, frame)
      return encapsulate(testing.tunnel(changes), frame):byte(16)
    end
    assert.equal(0, tos({}, IP_FRAME))
    assert.equal(0xb8, tos({dscp = "copy"}, IP_FRAME))
    assert.equal(0x28, tos({dscp = 10}, IP_FRAME))
    for ecn = 0, 3 do
      local frame = with(IP_FRAME, 15, string.char(0xb8 + ecn))
      assert.equal(ecn, tos({}, frame))
      assert.equal(0x28 + ecn, tos({dscp = 10}, frame))
      assert.equal(0xb8 + ecn, tos({dscp = "copy"}, frame))
      local out = encapsulate(testing.tunnel6{dscp = "copy"}, frame)
      assert.equal(0x6b, out:byte(15))
      assert.equal(8 + ecn, bit.rshift(out:byte(16), 4))
    end
    assert.equal(0, tos({dscp = "copy"}, FRAME))
  end)

  it("keeps a flow's packets on one port, and spreads flows", function ()
    local tunnel, ports, different = testing.tunnel(), {}, 0
    for n = 1, 200 do
      local frame = with(IP_FRAME, 34, string.char(math.floor(n / 100), n % 100))
      local port = encapsulate(tunnel, frame):sub(35, 36)
      assert.equal(port, encapsulate(tunnel, with(frame, 44, "z")):sub(35, 36))
      if not ports[port] then ports[port], different = true, different + 1 end
    end
    assert(different > 190, different)
  end)

  it("takes VLAN tags off, and their VNI into the header", function ()
    local tunnel = testing.tunnel{vnis = {[42] = 0, [0xabcdef] = 10, [7] = 4094}}
    local function vni(frame)
      local out, why = encapsulate(tunnel, frame)
      if not out then return why end
      assert.equal(FRAME, out:sub(51))
      return out:byte(47) * 65536 + out:byte(48) * 256 + out:byte(49)
    end
    assert.equal(42, vni(FRAME))
    assert.equal(42, vni(tagged(FRAME, "e000"))) -- a priority tag
    assert.equal(0xabcdef, vni(tagged(FRAME, "000a")))
    assert.equal(0xabcdef, vni(tagged(FRAME, "f00a")))
    assert.equal(7, vni(tagged(FRAME, "0ffe")))
    assert.equal("unknown_vlan", vni(tagged(FRAME, "000b")))
    -- 802.1ad's VLAN 10 is another than 802.1Q's, and not untagged.
    assert.equal("unknown_vlan", vni(with(tagged(FRAME, "000a"), 12, "\136\168")))
    assert.equal("unknown_vlan", vni(with(tagged(FRAME, "0000"), 12, "\136\168")))
  end)

  it("keeps what is for the neighbour on the wire, unless told not to", function ()
    local carrying = testing.tunnel{flood_control = true, vnis = {[42] = 0, [43] = 10}}
    local keeping = testing.tunnel{vnis = {[42] = 0, [43] = 10}}
    for last = 0, 16 do
      local frame = with(FRAME, 0, "\1\128\194\0\0" .. string.char(last))
      for _, text in ipairs{frame, tagged(frame, "000a")} do
        local out, why = encapsulate(keeping, text)
        assert.equal(last < 16 and "control" or "output", why)
        assert.equal(last < 16, out == nil)
        assert.equal(frame, encapsulate(carrying, text):sub(51))
      end
    end
    local lldp = with(FRAME, 12, "\136\204")
    assert.equal("control", (select(2, encapsulate(keeping, lldp))))
    assert.equal("control", (select(2, encapsulate(keeping, tagged(lldp, "000a")))))
    assert.is_string(encapsulate(keeping, with(lldp, 0, "\2")))
  end)

  it("keeps tags when told to", function ()
    local frame = tagged(FRAME, "200b")
    for _, text in ipairs{frame, with(frame, 12, "\136\168")} do
      local out = encapsulate(testing.tunnel{keep_tags = true}, text)
      assert.equal(text, out:sub(51))
    end
  end)

  it("sends to where the table says, by VNI", function ()
    local tunnel = testing.tunnel{
      vnis = {[42] = 0, [43] = 10},
      remotes = {{address = "192.0.2.2", mac = "02:00:00:00:00:02"},
                 {address = "192.0.2.3", mac = "02:00:00:00:00:03", vnis = {42}}},
      static = {{vni = 42, mac = "02:00:00:00:00:08", remote = "192.0.2.3"}},
    }
    local function to(frame)
      local out, why = encapsulate(tunnel, frame)
      return out and out:byte(34) or why
    end
    assert.equal(3, to(IP_FRAME))
    assert.equal(2, to(tagged(IP_FRAME, "000a"))) -- one remote: nothing to copy
    assert.equal("flood", to(FRAME))
    assert.equal("flood", to(with(IP_FRAME, 5, "\7")))
  end)

  it("drops by name what it can't send", function ()
    local function why(changes, frame)
      return (select(2, encapsulate(testing.tunnel(changes), frame)))
    end
    for length = 0, 13 do assert.equal("short", why({}, FRAME:sub(1, length))) end
    for length = 14, 17 do
      assert.equal("short", why({}, tagged(FRAME, "0001"):sub(1, length)))
    end
    local big = ("\2"):rep(1464)
    assert.equal(1514, #encapsulate(testing.tunnel(), big))
    assert.equal("too_big", why({}, big .. "x"))
    assert.equal("too_big", why({mtu = 600}, ("\2"):rep(565)))
    assert.equal(1514, #encapsulate(testing.tunnel6(), ("\2"):rep(1444)))
    assert.is_nil(encapsulate(testing.tunnel6(), ("\2"):rep(1445)))
    assert.equal("unresolved", why({remotes = {"192.0.2.9"}}, FRAME))
  end)
end)

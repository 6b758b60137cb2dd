-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local ffi = require("ffi")
local note = require("click.note")
local packet = require("core.packet")
local packet_bytes = require("testing.packet_bytes")

-- Scapy: IP(src="10.0.0.1", dst="10.0.0.2")/UDP(sport=1, dport=2)/"data!"
local UDP = "\69\0\0\33\0\1\0\0\64\17\102\201\10\0\0\1\10\0\0\2"
  .. "\0\1\0\2\0\13\242\11data!"
-- .../TCP(sport=1, dport=2, seq=3, ack=4)/"data!"
local TCP = "\69\0\0\45\0\1\0\0\64\6\102\200\10\0\0\1\10\0\0\2\0\1\0\2\0\0\0\3\0\0\0\4"
  .. "\80\2\32\0\130\14\0\0data!"

local function noted(text, address)
  local p = packet_bytes.noted(text, 20)
  if address then ffi.copy(p.note8 + 4 * note.DST_IP, address, 4) end
  return p
end

-- The annotation behind the unit, 4 bytes (`offset` as Click numbers it, 0).
local function annotation(unit, text, offset)
  local p = unit:pass(noted(text))
  local bytes = ffi.string(p.note8 + note.FIRST + (offset or 0), 4)
  packet.free(p)
  return bytes
end

describe("GetIPAddress", function ()
  it("notes an address of the packet", function ()
    assert.equal("\10\0\0\2", annotation(click.unit("GetIPAddress(16)"), UDP))
    assert.equal("\0\0\0\0", annotation(click.unit("GetIPAddress(30)"), UDP))
    assert.equal("\0\1\10\0", annotation(click.unit("GetIPAddress(14, 5)"), UDP, 5))
    assert.equal("\10\0\0\1", annotation(click.unit("GetIPAddress(IP src)"), UDP))
    assert.equal("\10\0\0\2", annotation(click.unit("GetIPAddress(IP dst)"), UDP))
    assert.equal("\0\0\0\0", annotation(click.unit("GetIPAddress(IP dst)"), "short"))
    assert.same({"set one of OFFSET, IP"},
      click.unit("GetIPAddress(16, IP src)").errors)
    assert.same({"bad IP"}, click.unit("GetIPAddress(IP x)").errors)
  end)
end)

describe("SetIPAddress", function ()
  it("notes its address", function ()
    local unit = click.unit("SetIPAddress(1.2.3.4)")
    assert.equal("\1\2\3\4", annotation(unit, UDP))
    assert.is_nil(unit:write("addr", "4.3.2.1"))
    assert.equal("4.3.2.1", unit:read("addr"))
    assert.equal("\4\3\2\1", annotation(unit, UDP))
    unit = click.unit("SetIPAddress(1.2.3.4, ANNO 8)")
    assert.equal("\1\2\3\4", annotation(unit, UDP, 8))
  end)
end)

describe("StoreIPAddress", function ()
  local function out(config, p, options)
    local unit = click.unit("StoreIPAddress(" .. config .. ")", options)
    assert.same({}, unit.errors)
    local result = unit:send(p)[1]
    unit:free()
    if result then return result[2], result[1] end
  end

  it("writes the annotation, or its address, anywhere", function ()
    assert.equal("\1\2\3\4efgh", (out("0", noted("abcdefgh", "\1\2\3\4"))))
    assert.equal("abcd\9\8\7\6", (out("9.8.7.6, 4", noted("abcdefgh", "\1\2\3\4"))))
    assert.equal("abcdefgh", (out("0", noted("abcdefgh", "\0\0\0\0"))))
    assert.equal("\0\0\0\0efgh", (out("0.0.0.0, 0", noted("abcdefgh"))))
    assert.is_nil(out("5", noted("abcdefgh", "\1\2\3\4")))
    assert.same({"abcdefgh", 2},
      {out("5", noted("abcdefgh", "\1\2\3\4"), {outputs = 2})})
  end)

  it("keeps checksums right in headers", function ()
    local ip, tcp, udp = click.unit("CheckIPHeader"), click.unit("CheckTCPHeader"),
      click.unit("CheckUDPHeader")
    local store = {}
    for _, config in ipairs{"src", "dst", "255.255.255.255, src", "0.0.0.0, dst"} do
      table.insert(store, click.unit("StoreIPAddress(" .. config .. ")"))
    end
    for _, unit in ipairs(store) do
      for _, address in ipairs{"\1\2\3\4", "\255\255\255\254", "\10\0\0\1"} do
        local p = ip:pass(unit:pass(noted(UDP, address)))
        assert.equal(1, #udp:send(p))
        p = ip:pass(unit:pass(noted(TCP, address)))
        assert.equal(1, #tcp:send(p))
      end
    end
    udp:free()
    tcp:free()
  end)

  it("never makes a UDP checksum 0, which would say that there is none", function ()
    local header = "\69\0\0\28\0\0\0\0\64\17\0\0\10\0\0\2\10\0\0\1"
    local udp = "\0\1\0\2\0\8\0\8"
    local unit, ip = click.unit("StoreIPAddress(10.0.0.9, dst)"),
      click.unit("MarkIPHeader")
    local p = unit:pass(ip:pass(header .. udp))
    assert.equal("\255\255", ffi.string(p.data + 26, 2))
    packet.free(p)
    unit:free()
    ip:free()
  end)

  it("leaves a UDP checksum of 0, and fragments' bytes", function ()
    local none = UDP:sub(1, 26) .. "\0\0data!"
    assert.equal("\0\0data!", (out("src", noted(none, "\1\2\3\4"))):sub(27))
    local later = UDP:sub(1, 7) .. "\1" .. UDP:sub(9)
    assert.equal(UDP:sub(21), (out("src", noted(later, "\1\2\3\4"))):sub(21))
    assert.is_nil(out("src", noted(UDP:sub(1, 19), "\1\2\3\4")))
  end)

  it("checks its arguments", function ()
    assert.same({"type mismatch: OFFSET requires integer"},
      click.unit("StoreIPAddress(source)").errors)
    assert.same({"ADDR: parse error"}, click.unit("StoreIPAddress(x, 0)").errors)
  end)
end)

describe("SetRandIPAddress", function ()
  it("notes addresses of its prefix", function ()
    local unit, seen, n = click.unit("SetRandIPAddress(10.1.0.0/16, 3)"), {}, 0
    for _ = 1, 100 do
      local address = annotation(unit, "x")
      assert.equal("\10\1", address:sub(1, 2))
      if not seen[address] then n = n + 1 end
      seen[address] = true
    end
    assert.is_true(n >= 2 and n <= 3)
    assert.equal("\10\1\2\3", annotation(click.unit("SetRandIPAddress(10.1.2.3)"), "x"))
  end)
end)

describe("IPMirror", function ()
  it("swaps addresses, ports, and TCP's numbers", function ()
    local unit = click.unit("IPMirror")
    local p = unit:pass(noted(UDP))
    assert.equal(UDP:sub(1, 12) .. "\10\0\0\2\10\0\0\1\0\2\0\1" .. UDP:sub(25),
      ffi.string(p.data, p.length))
    assert.equal("\10\0\0\1", ffi.string(p.note8 + 4 * note.DST_IP, 4))
    packet.free(p)
    assert.same({{1, TCP:sub(1, 12) .. "\10\0\0\2\10\0\0\1\0\2\0\1\0\0\0\4\0\0\0\3"
      .. TCP:sub(33)}}, unit:send(noted(TCP)))
    local later = UDP:sub(1, 7) .. "\1" .. UDP:sub(9)
    assert.equal(UDP:sub(21), unit:send(noted(later))[1][2]:sub(21))
    assert.same({}, unit:send(noted(UDP:sub(1, 19))))
    unit:free()
  end)
end)

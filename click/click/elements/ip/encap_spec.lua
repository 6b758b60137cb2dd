-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local ffi = require("ffi")
local note = require("click.note")
local packet = require("core.packet")

-- Scapy: IP(src="10.0.0.1", dst="10.0.0.2", ttl=250, id=0, proto=4)/"data!"
local FIRST = "\69\0\0\25\0\0\0\0\250\4\172\222\10\0\0\1\10\0\0\2data!"
-- IP(..., ttl=9, id=1, proto=4, tos=0x29, flags="DF")
local SECOND = "\69\41\0\25\0\1\64\0\9\4\93\181\10\0\0\1\10\0\0\2data!"

local function to(address)
  local p = packet.from_string("data!")
  note.clear(p)
  ffi.copy(p.note8 + 4 * note.DST_IP, address or "\0\0\0\0", 4)
  return p
end

describe("IPEncap", function ()
  it("puts a header before packets", function ()
    local unit = click.unit("IPEncap(ipip, 10.0.0.1, 10.0.0.2)")
    assert.same({}, unit.errors)
    local p = unit:pass(to())
    assert.equal(FIRST, ffi.string(p.data, p.length))
    assert.equal(p.data_off, p.note16[note.NETWORK_HEADER])
    assert.equal(p.data_off + 20, p.note16[note.TRANSPORT_HEADER])
    assert.equal("\10\0\0\2", ffi.string(p.note8 + 4 * note.DST_IP, 4))
    packet.free(p)
  end)

  it("has its fields set, and counts", function ()
    local unit = click.unit("IPEncap(4, 10.0.0.1, DST_ANNO, TTL 9, DSCP 10, ECT true, "
      .. "DF true)")
    assert.equal(1, #unit:send(to("\10\0\0\2")))
    assert.same({{1, SECOND}}, unit:send(to("\10\0\0\2")))
    assert.equal("DST_ANNO", unit:read("dst"))
    assert.is_nil(unit:write("dst", "10.0.0.3"))
    assert.equal("\10\0\0\3", unit:send(to())[1][2]:sub(17, 20))
    unit:free()
  end)

  it("keeps the checksum right for all lengths and numbers", function ()
    local unit, check = click.unit("IPEncap(4, 255.255.255.255, DST_ANNO)"),
      click.unit("CheckIPHeader")
    local passed = 0
    for i = 0, 70000, 7 do
      unit.element.id = i % 65536
      local p = to("\255\255\255" .. string.char(i % 256))
      p.length = i % 300
      local q = check:pass((unit:pass(p)))
      if q then
        passed = passed + 1
        packet.free(q)
      end
    end
    assert.equal(10001, passed)
  end)

  it("checks its arguments", function ()
    local function errors(rest)
      return click.unit("IPEncap(" .. rest .. ")").errors
    end
    assert.same({"PROTO: out of range, bound 255"}, errors("256, 1.0.0.1, 1.0.0.2"))
    assert.same({"DST argument should be IP address or 'DST_ANNO'"},
      errors("4, 1.0.0.1, x"))
    assert.same({"cannot set both TOS and DSCP"},
      errors("4, 1.0.0.1, 1.0.0.2, TOS 1, DSCP 1"))
    assert.same({"DSCP too large; max 63"}, errors("4, 1.0.0.1, 1.0.0.2, DSCP 64"))
    assert.same({"can set at most one ECN option"},
      errors("4, 1.0.0.1, 1.0.0.2, ECT 2, CE true"))
    assert.same({"bad ECT value '3'"}, errors("4, 1.0.0.1, 1.0.0.2, ECT 3"))
  end)
end)

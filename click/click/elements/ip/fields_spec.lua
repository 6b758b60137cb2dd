-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local packet_bytes = require("testing.packet_bytes")

-- Scapy: IP(src="10.0.0.1", dst="192.0.2.9", proto=9)/"data"; tos=
local function of(tos, sum_high, sum_low)
  return "\69" .. string.char(tos) .. "\0\24\0\1\0\0\64\9"
    .. string.char(sum_high, sum_low) .. "\10\0\0\1\192\0\2\9data"
end
local TOS0, TOS1, TOS2, TOS3 =
  of(0, 174, 210), of(1, 174, 209), of(2, 174, 208), of(3, 174, 207)

local function noted(text, network) return packet_bytes.noted(text, nil, network) end

local function out(config, text)
  local unit = click.unit(config)
  local result = unit:send(noted(text))[1]
  unit:free()
  return result and result[2]
end

describe("SetIPDSCP", function ()
  it("sets the upper bits, and keeps the checksum right", function ()
    assert.equal(of(40, 174, 170), out("SetIPDSCP(10)", TOS0))
    assert.equal(of(41, 174, 169), out("SetIPDSCP(10)", TOS1))
    assert.equal(TOS1, out("SetIPDSCP(0)", of(41, 174, 169)))
    local unit = click.unit("SetIPDSCP(DSCP 10)")
    assert.equal("10", unit:read("dscp"))
    assert.is_nil(unit:write("dscp", "2"))
    assert.equal("2", unit:read("dscp"))
    assert.equal("diffserv code point out of range", unit:write("dscp", "64"))
    assert.same({{1, of(8, 174, 202)}}, unit:send(noted(TOS0)))
    assert.same({}, unit:send(noted(TOS0:sub(1, 19))))
    assert.same({}, unit:send(noted(TOS0, 0)))
    unit:free()
  end)
end)

describe("SetIPECN", function ()
  it("sets the lower bits", function ()
    for text, expected in pairs{no = TOS0, ect1 = TOS1, ["ECT(0)"] = TOS2, CE = TOS3,
                                ["1"] = TOS1} do
      assert.equal(expected, out("SetIPECN(" .. text .. ")", TOS2))
    end
    assert.same({"bad ECN argument"}, click.unit("SetIPECN(4)").errors)
  end)
end)

describe("MarkIPCE", function ()
  it("marks what is capable of ECN, and drops the rest", function ()
    assert.equal(TOS3, out("MarkIPCE", TOS1))
    assert.equal(TOS3, out("MarkIPCE", TOS2))
    assert.equal(TOS3, out("MarkIPCE", TOS3))
    assert.is_nil(out("MarkIPCE", TOS0))
    assert.equal(TOS3, out("MarkIPCE(FORCE true)", TOS0))
    local unit = click.unit("MarkIPCE")
    unit:send(noted(TOS0))
    assert.equal("1", unit:read("drops"))
  end)
end)

describe("SetIPChecksum", function ()
  it("sets it", function ()
    assert.equal(TOS0, out("SetIPChecksum", of(0, 1, 2)))
    local unit = click.unit("SetIPChecksum")
    local p = noted(of(0, 1, 2), 0) -- no header is known: the packet begins with it
    assert.same({{1, TOS0}}, unit:send(p))
    for _, text in ipairs{"", TOS0:sub(1, 19), "\68" .. TOS0:sub(2),
                          "\79" .. TOS0:sub(2)} do
      assert.same({}, unit:send(noted(text)))
    end
    assert.equal("4", unit:read("drops"))
    assert.same({"SetIPChecksum: bad input packet"}, unit.said)
    unit:free()
  end)
end)

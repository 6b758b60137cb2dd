-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

local function address(text)
  return (require("click.arguments").types.ip6(text, {}))
end

-- A host within, as it is seen without, and one without.
local A, M, B = "2001:db8::2", "2001:db8:1::7", "2001:db8:2::9"

local function v6(from, to, protocol, payload)
  return "\96\0\0\0\0" .. string.char(#payload, protocol) .. "\9" .. address(from)
    .. address(to) .. payload
end

-- Payloads of packets between these, and with M in A's place, that Scapy made:
-- UDP(sport=258, dport=772)/"data", TCP(sport=258, dport=772),
-- ICMPv6EchoRequest(id=3, seq=4, data=b"data").
local function udp(from, to, ports, sum)
  return v6(from, to, 17, ports .. "\0\12" .. sum .. "data")
end
local TCP, ECHO = "\1\2\3\4\0\0\0\0\0\0\0\0\80\2\32\0\48", "\128\0\75"

local A_TO_B = udp(A, B, "\1\2\3\4", "\199\142")
local M_TO_B = udp(M, B, "\1\2\3\4", "\199\136")
local B_TO_A = udp(B, A, "\3\4\1\2", "\199\142")
local B_TO_M = udp(B, M, "\3\4\1\2", "\199\136")
-- The same with port 6000 in the place of 258.
local PORT_OUT = udp(M, B, "\23\112\3\4", "\177\26")
local PORT_IN = udp(B, M, "\3\4\23\112", "\177\26")

local function unit_of(config)
  return click.unit("AddressTranslator(" .. config .. ")", {inputs = 2, outputs = 2})
end

describe("AddressTranslator", function ()
  it("translates as configured", function ()
    local unit = unit_of(("1, false, %s %s, false"):format(A, M))
    assert.same({{1, M_TO_B}}, unit:send(A_TO_B, 1))
    assert.same({{2, B_TO_A}}, unit:send(B_TO_M, 2))
    assert.same({{1, v6(M, B, 6, TCP .. "\88\0\0")}},
      unit:send(v6(A, B, 6, TCP .. "\94\0\0"), 1))
    assert.same({{1, v6(M, B, 58, ECHO .. "\106\0\3\0\4data")}},
      unit:send(v6(A, B, 58, ECHO .. "\112\0\3\0\4data"), 1))
    assert.same({}, unit:send(M_TO_B, 1))
    assert.same({["no mapping"] = 1}, unit.lost)
    unit:free()
  end)

  it("translates ports as configured", function ()
    local unit = unit_of(("1, true, %s 258 %s 6000, false"):format(A, M))
    assert.same({{1, PORT_OUT}}, unit:send(A_TO_B, 1))
    assert.same({{2, B_TO_A}}, unit:send(PORT_IN, 2))
    assert.same({}, unit:send(B_TO_M, 2))
    assert.same({}, unit:send(v6(A, B, 58, ECHO .. "\112\0\3\0\4data"), 1))
    unit:free()
  end)

  it("binds addresses to those who come first", function ()
    local unit = unit_of("0, true, false, false, " .. M)
    assert.same({}, unit:send(B_TO_M, 2))
    assert.same({{1, M_TO_B}}, unit:send(A_TO_B, 1))
    assert.same({{2, B_TO_A}}, unit:send(B_TO_M, 2))
    assert.same({{1, M_TO_B}}, unit:send(A_TO_B, 1))
    assert.same({}, unit:send(udp("2001:db8::3", B, "\1\2\3\4", "\0\0"), 1))
    unit:free()
    unit = unit_of("0, true, false, true, " .. A)
    assert.same({}, unit:send(A_TO_B, 1))
    assert.same({{2, B_TO_A}}, unit:send(B_TO_M, 2))
    assert.same({{1, M_TO_B}}, unit:send(A_TO_B, 1))
    unit:free()
  end)

  it("gives flows ports as long as there are some", function ()
    local unit = unit_of(("0, true, true, false, %s 6000 6001"):format(M))
    assert.same({}, unit:send(PORT_IN, 2))
    assert.same({{1, PORT_OUT}}, unit:send(A_TO_B, 1))
    assert.same({{2, B_TO_A}}, unit:send(PORT_IN, 2))
    assert.same({{1, PORT_OUT}}, unit:send(A_TO_B, 1))
    local second = unit:send(udp(A, B, "\1\3\3\4", "\0\0"), 1)[1]
    assert.equal("\23\113\3\4", second[2]:sub(41, 44))
    assert.same({}, unit:send(udp(A, B, "\1\4\3\4", "\0\0"), 1))
    assert.same({}, unit:send(udp(A, B, "\1\5\3\4", "\0\0"), 1))
    assert.same({"AddressTranslator ran out of ports"}, unit.said)
    assert.same({{1, v6(M, B, 58, ECHO .. "\106\0\3\0\4data")}},
      unit:send(v6(A, B, 58, ECHO .. "\112\0\3\0\4data"), 1))
    unit:free()
  end)

  it("gives ports inward", function ()
    local unit = unit_of(("0, true, true, true, %s 258 258"):format(A))
    assert.same({{2, B_TO_A}}, unit:send(PORT_IN, 2))
    assert.same({{1, PORT_OUT}}, unit:send(A_TO_B, 1))
    unit:free()
  end)

  it("translates whole packets of protocols that it knows alone", function ()
    local unit = unit_of(("1, false, %s %s, false"):format(A, M))
    for _, text in ipairs{"", A_TO_B:sub(1, -2), v6(A, B, 17, "short"),
      v6(A, B, 50, "someother"), "\69" .. A_TO_B:sub(2)} do
      assert.same({}, unit:send(text, 1))
    end
    assert.same({["not translated"] = 5}, unit.lost)
    unit:free()
  end)

  it("checks its arguments", function ()
    local function errors(config) return unit_of(config).errors end
    assert.same({"argument 1 should be : int"}, {errors("no, false")[1]})
    assert.same({"argument 2 should be : bool"}, errors("0, 1 1 0"))
    assert.same({"argument 3 should be : ADDR ADDR"}, errors("1, false, ::1, false"))
    assert.same({"argument 3 should be : ADDR PORT ADDR PORT"},
      errors("1, true, ::1 ::2, false"))
    assert.same({"argument 5 should be : ip6"}, errors("0, true, false, false, host"))
    assert.same({"argument 5 should be : ADDR PORT PORT"},
      errors("0, true, true, false, ::1 7 6"))
    assert.same({}, errors(("2, 0, %s %s, %s %s, 0"):format(A, M, B, B)))
  end)
end)

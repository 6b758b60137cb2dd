-- SPDX-License-Identifier: Apache-2.0
-- Access points and stations: what they send is what Click's send.

local click = require("testing.click")
local wifi = require("click.net.wifi")
local wireless = require("testing.wireless")

local STATION, POINT = wireless.STATION, wireless.POINT
local FIRST_RATES = "\1\8\130\4\11\22\12\18\24\36"
local MORE_RATES = "\50\2\48\72"
local named = wireless.name_and_rates("g9")

-- The element of that class in the network, for an access point or a station.
local function unit_of(class, options)
  local info, rates = wireless.network()
  options = options or {}
  options.values = {DEBUG = true, WIRELESS_INFO = info.element, RT = rates.element,
    ETH = STATION, TRACK = 10}
  return click.unit(class, options), info, rates
end

local function from_point(subtype, body)
  return wireless.header(subtype, 0, STATION, POINT, POINT) .. body
end

local function beacon(subtype, to)
  return wireless.header(subtype, 0, to, POINT, POINT) .. ("\0"):rep(8) .. "\100\0\1\0"
    .. "\0\2g9" .. FIRST_RATES .. "\3\1\11" .. "\5\4\0\1\0\0" .. MORE_RATES
end

describe("BeaconSource", function ()
  it("sends beacons", function ()
    local unit, info = unit_of("BeaconSource")
    assert.same({{1, beacon(wifi.BEACON, wifi.ALL)}}, unit:wait(0.1001))
    info:write("interval", "50")
    assert.equal(3, #unit:wait(0.2))
    unit:free()
  end)

  it("answers who looks for its network, or for any", function ()
    local unit = unit_of("BeaconSource")
    local answer = {{1, beacon(wifi.PROBE_RESPONSE, STATION)}}
    assert.same(answer, unit:send(wireless.request(wifi.PROBE_REQUEST, named)))
    assert.same(answer, unit:send(wireless.request(wifi.PROBE_REQUEST, "\0\0")))
    assert.same({}, unit:send(wireless.request(wifi.PROBE_REQUEST, "\0\3foo")))
    assert.same({}, unit:send(wireless.request(wifi.BEACON, named)))
    assert.same({}, unit:send("\8\0" .. named))
    assert.same({
      "e :: BeaconSource: ProbeReq: 02-00-00-00-00-01 ssid g9 rates { * 2 * 4 11 22 }",
      "e :: BeaconSource: ProbeReq: 02-00-00-00-00-01 ssid  rates { }",
      "e :: BeaconSource: other ssid foo wanted g9",
      "e :: BeaconSource: received non-probe-req packet",
      "e :: BeaconSource: packet too small: 12 vs 24",
    }, unit.said)
    assert.same({answered = 2, ["not for this network"] = 1, ["no such request"] = 2},
      unit.lost)
    unit:free()
  end)

  it("needs an interval", function ()
    local info, rates = wireless.network()
    info:write("interval", "0")
    local unit = click.unit("BeaconSource",
      {values = {WIRELESS_INFO = info.element, RT = rates.element}})
    assert.same({"INTERVAL must be >0"}, unit.errors)
  end)
end)

describe("OpenAuthResponder", function ()
  it("lets stations authenticate", function ()
    local unit = unit_of("OpenAuthResponder")
    local function ask(body) return unit:send(wireless.request(0xb0, body)) end
    assert.same({{1, from_point(0xb0, "\0\0\2\0\0\0")}}, ask("\0\0\1\0\0\0"))
    assert.same({}, ask("\1\0\1\0\0\0"))
    assert.same({}, ask("\0\0\2\0\0\0"))
    assert.same({}, ask(""))
    assert.same({answered = 1, ["not supported"] = 3}, unit.lost)
    assert.equal("e :: OpenAuthResponder: auth 1 from 02-00-00-00-00-01 not supported",
      unit.said[2])
    unit:free()
  end)
end)

describe("AssociationResponder", function ()
  it("lets stations associate, and numbers them", function ()
    local unit = unit_of("AssociationResponder")
    local ask = wireless.request(0x00, "\17\0\10\0" .. named)
    for i = 0, 1 do
      assert.same({{1, from_point(0x10, "\1\0\0\0" .. string.char(i) .. "\192"
        .. FIRST_RATES .. MORE_RATES)}}, unit:send(ask))
    end
    assert.equal("e :: AssociationResponder: request src 02-00-00-00-00-01 dst "
      .. "06-00-00-00-00-09 bssid 06-00-00-00-00-09[ ESS PRIVACY ]  listen_int 10 "
      .. "( { 2 4 } 11 22 )", unit.said[1])
    assert.same({}, unit:send(wireless.request(0x00, "\1\0\10\0\0\3foo")))
    unit:free()
  end)
end)

describe("BeaconScanner", function ()
  it("keeps a list, and learns rates", function ()
    local unit, info, rates = unit_of("BeaconScanner")
    local bytes = wireless.beacon("g9", 11)
    assert.same({{1, bytes}}, unit:send(bytes))
    unit:wait(1)
    assert.matches("^06%-00%-00%-00%-00%-09 channel 11 rssi 0 ssid g9 "
      .. "beacon_interval 100 last_rx 1%.000000%d* %[ ESS PRIVACY %] "
      .. "%( { 2 4 12 } 11 22 18 24 %)\n$",
      unit:read("scan"))
    assert.equal("DEFAULT  2 4 11 22 12 18 24 36 48 72\n"
      .. "06-00-00-00-00-09  2 4 11 22 12 18 24\n", rates:read("rates"))
    unit:send(wireless.beacon("", 11)) -- keeps the name
    assert.matches(" ssid g9 ", unit:read("scan"))
    unit:write("reset")
    info:write("channel", "6")
    unit:send(bytes) -- of another channel
    info:write("channel", "-1")
    unit:send(bytes)
    assert.equal("", unit:read("scan"))
    unit:free()
  end)
end)

describe("BeaconTracker", function ()
  it("counts its network's beacons", function ()
    local unit = unit_of("BeaconTracker")
    assert.equal("0", unit:read("stats"))
    assert.equal(1, #unit:send(wireless.beacon("g9", 11)))
    assert.same({}, unit:send(wireless.request(wifi.BEACON, ""):gsub("\9", "\8")))
    assert.same({}, unit:send(wireless.request(0x00, "")))
    assert.same({["of another network"] = 1, ["no beacon"] = 1}, unit.lost)
    assert.same({"e :: BeaconTracker: received subtype 0 packet"}, unit.said)
    unit:free()
  end)
end)

describe("A station", function ()
  it("asks which networks there are", function ()
    local unit, info = unit_of("ProbeRequester", {inputs = 0})
    unit:write("send_probe")
    assert.same({{1, wireless.header(0x40, 0, wifi.ALL, STATION, wifi.ALL) .. "\0\2g9"
      .. FIRST_RATES .. MORE_RATES}}, unit:wait(0))
    info:write("channel", "36") -- of 5 GHz: all know 6 Mbit/s
    unit:write("send_probe")
    assert.matches("\22\140\18", unit:wait(0)[1][2])
    unit:free()
  end)

  it("asks to authenticate, and to associate", function ()
    local unit = unit_of("OpenAuthRequester")
    unit:write("send_auth_req")
    assert.same({{1, wireless.header(0xb0, 0, POINT, STATION, POINT)
      .. "\0\0\1\0\0\0"}}, unit:wait(0))
    assert.same({}, unit:send(from_point(0xb0, "\0\0\2\0\0\0")))
    unit:free()
    local info
    unit, info = unit_of("AssociationRequester")
    info:write("wep", "true")
    unit:write("send_assoc_req")
    assert.same({{1, wireless.header(0x00, 0, POINT, STATION, POINT) .. "\17\0\100\0"
      .. "\0\2g9" .. FIRST_RATES .. MORE_RATES}}, unit:wait(0))
    assert.equal("false", unit:read("associated"))
    unit:send(from_point(0x10, "\1\0\0\0\1\192" .. FIRST_RATES))
    assert.equal("true", unit:read("associated"))
    unit:send(from_point(0xa0, "\4\0"))
    assert.equal("false", unit:read("associated"))
    assert.same({
      "e :: AssociationRequester: response 06-00-00-00-00-09 +0 [ ESS ] status 0 "
        .. "associd 49153 ( { 2 } 4 11 22 12 18 24 36 )",
      "e :: AssociationRequester disassociation from 06-00-00-00-00-09 reason 4",
    }, unit.said)
    unit:free()
  end)
end)

describe("AvailableRates", function ()
  it("is changed by handlers", function ()
    local _, rates = wireless.network()
    assert.is_nil(rates:write("insert", "2:0:0:0:0:7 2 11"))
    assert.matches("02%-00%-00%-00%-00%-07  2 11\n$", rates:read("rates"))
    assert.matches("must have > 1 arg$", rates:write("insert", "2:0:0:0:0:7"))
    assert.matches("must start with ethernet", rates:write("insert", "x 2"))
    assert.is_nil(rates:write("remove", "2:0:0:0:0:7"))
    assert.equal("DEFAULT  2 4 11 22 12 18 24 36 48 72\n", rates:read("rates"))
    assert.same({}, rates.element:lookup(wifi.NOBODY))
    assert.same({"error param x 2: must start with ethernet address"},
      click.unit("AvailableRates(x 2)").errors)
    assert.same({"error param DEFAULT 200: rates are from 0 to 127, in 500 kbit/s"},
      click.unit("AvailableRates(DEFAULT 200)").errors)
  end)
end)

describe("WirelessInfo", function ()
  it("has names of up to 32 bytes", function ()
    assert.same({"SSID has 33 bytes; networks' names have at most 32"},
      click.unit(("WirelessInfo(SSID %s)"):format(("x"):rep(33))).errors)
    local info = wireless.network()
    assert.matches("at most 32 bytes", info:write("ssid", ("x"):rep(33)))
    info:write("reset")
    assert.same({"", "00-00-00-00-00-00", -1, 100}, {info:read("ssid"),
      info:read("bssid"), info:read("channel"), info:read("interval")})
  end)
end)

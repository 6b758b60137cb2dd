-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local packet_bytes = require("testing.packet_bytes")

local changed = packet_bytes.changed

-- Scapy: IP(src="10.0.0.1", dst="10.0.0.2")/TCP(sport=1, dport=2, seq=3, ack=4)/"data!"
local TCP = "\69\0\0\45\0\1\0\0\64\6\102\200\10\0\0\1\10\0\0\2\0\1\0\2\0\0\0\3\0\0\0\4"
  .. "\80\2\32\0\130\14\0\0data!"
-- .../UDP(sport=1, dport=2)/"data!"
local UDP = "\69\0\0\33\0\1\0\0\64\17\102\201\10\0\0\1\10\0\0\2"
  .. "\0\1\0\2\0\13\242\11data!"
-- the same, options=[IPOption_LSRR(routers=["10.0.0.3", "10.0.0.4"])]
local ROUTED = "\72\0\0\45\0\1\0\0\64\17\213\157\10\0\0\1\10\0\0\2"
  .. "\131\11\4\10\0\0\3\10\0\0\4\0\0\1\0\2\0\13\242\9data!"

local function noted(text, network) return packet_bytes.noted(text, nil, network) end

-- What the unit drops each of these for; "" if it lets it pass.
local function reasons(unit, packets)
  local list = {}
  for i, text in ipairs(packets) do
    list[i] = unit:send(noted(text))[1] and "" or next(unit.lost)
    unit.lost = {}
  end
  unit:free()
  return list
end

describe("CheckTCPHeader", function ()
  it("lets good headers pass, and says what is wrong with others", function ()
    local unit = click.unit("CheckTCPHeader(DETAILS true)")
    assert.same({"", "", "not TCP", "bad packet length", "bad packet length",
      "bad packet length", "bad packet length", "bad TCP checksum"}, reasons(unit, {
      TCP, TCP .. "padding", UDP, TCP:sub(1, 44), changed(TCP, 32, 0x40),
      changed(TCP, 32, 0x70), changed(TCP, 3, 39), changed(TCP, 44, 0)}))
    assert.same({"2", "6"}, {unit:read("count"), unit:read("drops")})
    assert.same({"e :: CheckTCPHeader: TCP header check failed: not TCP"}, unit.said)
    assert.equal("              4 packets due to:        bad packet length",
      unit:read("drop_details"):match("\n([^\n]*packet length)"))
  end)

  it("needs a known IP header", function ()
    local unit = click.unit("CheckTCPHeader", {outputs = 2})
    assert.same({{2, TCP}}, unit:send(noted(TCP, 0)))
    assert.same({{2, TCP:sub(1, 19)}}, unit:send(noted(TCP:sub(1, 19))))
    unit:free()
  end)
end)

describe("CheckUDPHeader", function ()
  it("lets good headers pass, and says what is wrong with others", function ()
    local unit = click.unit("CheckUDPHeader(VERBOSE true)")
    assert.same({"", "", "", "", "not UDP", "bad packet length", "bad packet length",
      "bad packet length", "bad UDP checksum", "bad UDP checksum"}, reasons(unit, {
      UDP, UDP .. "padding", changed(UDP, 26, 0, 0), ROUTED, TCP, UDP:sub(1, 32),
      UDP:sub(1, 27), changed(UDP, 25, 7), changed(UDP, 32, 0),
      changed(ROUTED, 30, 5)}))
    assert.equal(6, #unit.said)
  end)

  it("leaves checksums alone if told so", function ()
    local unit = click.unit("CheckUDPHeader(CHECKSUM false)")
    assert.same({"", "bad packet length"}, reasons(unit, {changed(UDP, 32, 0),
      UDP:sub(1, 32)}))
  end)
end)

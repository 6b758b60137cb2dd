-- SPDX-License-Identifier: Apache-2.0
-- What PrintWifi prints, as Click's does it.

local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")
local wifi = require("click.net.wifi")
local wireless = require("testing.wireless")

local STATION, POINT, OTHER = wireless.STATION, wireless.POINT, wireless.OTHER
local ENDS = " 06-00-00-00-00-09 02-00-00-00-00-01 06-00-00-00-00-09 seq 21 [ ] "

-- The line for these bytes; change(extra, words) writes the annotation.
local function line(bytes, change, label)
  local unit = click.unit(("PrintWifi(%s)"):format(label or ""))
  local p = packet.from_string(bytes)
  note.clear(p)
  if change then change(wifi.extra(p)) end
  packet.free(unit:pass(p))
  return unit.said[1]
end

describe("PrintWifi", function ()
  it("prints management frames", function ()
    local named = wireless.name_and_rates("g9")
    for expected, bytes in pairs{
      ["assoc_req listen_int 10 [ESS PRIVACY] ssid g9 rates ({2 4} 11 22)" .. ENDS] =
        wireless.request(0x00, "\17\0\10\0" .. named),
      ["assoc_resp [ESS] status 17 unknown status 17 associd 49153" .. ENDS] =
        wireless.request(0x10, "\1\0\17\0\1\192"),
      ["reassoc_req" .. ENDS] = wireless.request(0x20, ""),
      ["probe_req ssid g9 ({2 4} 11 22)" .. ENDS] = wireless.request(0x40, named),
      ["probe_req ssid (invalid ssid) ({} )" .. ENDS] = wireless.request(0x40, ""),
      ["disassoc assoc_expire/inactive" .. ENDS] = wireless.request(0xa0, "\4\0"),
      ["disassoc unknown reason 40" .. ENDS] = wireless.request(0xa0, "\40\0"),
      ["auth alg 0 auth_seq 2 status rates" .. ENDS] =
        wireless.request(0xb0, "\0\0\2\0\23\0"),
      ["unknown-subtype-208" .. ENDS] = wireless.request(0xd0, ""),
    } do
      assert.equal(("%4d |  0Mb + 0/ 0 | mgmt %s"):format(#bytes, expected),
        line(bytes))
    end
  end)

  it("prints beacons", function ()
    assert.equal("  60 |  0Mb + 0/ 0 | mgmt beacon 06-00-00-00-00-09 g9 chan 11 b_int "
      .. "100 [ ESS PRIVACY ] ({2 4 12} 11 22 18 24)", line(wireless.beacon("g9", 11)))
    assert.equal("  24 |  0Mb + 0/ 0 | mgmt beacon 06-00-00-00-00-09 (none) chan 0 "
      .. "b_int 0 [ ] ({} )", line(wireless.beacon("g9", 11):sub(1, 24)))
  end)

  it("prints control and data frames, however short", function ()
    local ack = "\212\0\44\1" .. POINT
    assert.equal("  10 |  0Mb + 0/ 0 | cntl ack  300 06-00-00-00-00-09 [ ] ", line(ack))
    assert.equal("   0 |  0Mb + 0/ 0 | mgmt assoc_req listen_int 0 [] ssid (invalid "
      .. "ssid) rates ({} ) [ ] ", line(""))
    local data = wireless.header(8, 0x4d, STATION, OTHER, POINT, 0x1234)
    assert.equal("  24 |  0Mb + 0/ 0 | data tods 02-00-00-00-00-01 02-00-00-00-00-02 "
      .. "06-00-00-00-00-09 seq 291 frag 4 [ retry wep ] ", line(data))
    assert.equal("   1 |  0Mb + 0/ 0 | unknown-type-12 [ ] ", line("\12"))
  end)

  it("prints what is noted of the frame, and its label", function ()
    local bytes = "\180\0\0\0" .. POINT .. STATION
    assert.equal("a:   16 |  5.5Mb +40/ 7 | cntl rts  06-00-00-00-00-09 "
      .. "02-00-00-00-00-01 [ tx fail ]  retries 2", line(bytes, function (extra, words)
        words[1] = wifi.TX + wifi.TX_FAILED
        extra[wifi.RATE], extra[wifi.RSSI], extra[wifi.SILENCE] = 11, 40, 7
        extra[wifi.RETRIES] = 2
      end, "a"))
  end)
end)

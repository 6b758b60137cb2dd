-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")

local HEADER = "\96\0\0\0\0\4\17\64" .. ("\32\1\13\184" .. ("\0"):rep(11) .. "\1")
  .. ("\32\1\13\184" .. ("\0"):rep(11) .. "\2")

local function printed(arguments, bytes, at)
  local unit = click.unit(("IP6Print(%s)"):format(arguments))
  local p = packet.from_string(bytes)
  note.clear(p)
  p.note16[note.NETWORK_HEADER] = p.data_off + (at or 0)
  unit:send(p)
  unit:free()
  return unit.said[1]
end

describe("IP6Print", function ()
  it("prints addresses, length, protocol and hop limit", function ()
    assert.equal("v6: 2001:db8::1 -> 2001:db8::2 plen 4, next 17, hlim 64",
      printed("v6", HEADER .. "abcd"))
  end)

  it("prints bytes", function ()
    assert.equal("2001:db8::1 -> 2001:db8::2 plen 4, next 17, hlim 64\n"
      .. "  60000000 00041140 20010db8 00000000 00000000 00000001\n  20010d",
      printed("CONTENTS true, NBYTES 27", HEADER .. "abcd"))
  end)

  it("says what is cut off, or nothing", function ()
    assert.equal("truncated-ip6", printed("", HEADER:sub(1, 39)))
    assert.equal("truncated-ip6", printed("", HEADER, 1))
    assert.is_nil(printed("ACTIVE false", HEADER))
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")
local packet_bytes = require("testing.packet_bytes")

local changed = packet_bytes.changed

-- Scapy, as in check_spec.lua.
local TCP = "\69\0\0\45\0\1\0\0\64\6\102\200\10\0\0\1\10\0\0\2\0\1\0\2\0\0\0\3\0\0\0\4"
  .. "\80\2\32\0\130\14\0\0data!"
local UDP = "\69\0\0\33\0\1\0\0\64\17\102\201\10\0\0\1\10\0\0\2"
  .. "\0\1\0\2\0\13\242\11data!"

-- What comes out for the packet, if anything does; and by which output.
local function out(config, text, options)
  local unit = click.unit(config, options)
  local p = packet.from_string(text)
  note.clear(p)
  p.note16[note.NETWORK_HEADER] = p.data_off
  local result = unit:send(p)[1]
  unit:free()
  if result then return result[2], result[1] end
end

describe("SetTCPChecksum", function ()
  it("sets it", function ()
    assert.equal(TCP .. "padding", (out("SetTCPChecksum",
      changed(TCP, 36, 1, 2) .. "padding")))
    assert.is_nil(out("SetTCPChecksum", TCP:sub(1, 44)))
    assert.is_nil(out("SetTCPChecksum", changed(TCP, 3, 39)))
    assert.is_nil(out("SetTCPChecksum", TCP:sub(1, 19)))
  end)

  it("mends the header's length if told so", function ()
    assert.equal(TCP, (out("SetTCPChecksum(true)", changed(TCP, 32, 0))))
    local text = out("SetTCPChecksum(true)", changed(TCP, 32, 0xf0))
    assert.equal(0x60, text:byte(33)) -- the packet has 25 bytes
  end)
end)

describe("SetUDPChecksum", function ()
  it("sets it", function ()
    assert.equal(UDP .. "x", (out("SetUDPChecksum", changed(UDP, 26, 1, 2) .. "x")))
    -- Scapy: ... id=0, ttl=250)/UDP(sport=1, dport=2)/b"\xeb\xd4": a sum of zero
    local zero = "\69\0\0\30\0\0\0\0\250\17\172\204\10\0\0\1\10\0\0\2\0\1\0\2\0\10"
    assert.equal(zero .. "\255\255\235\212",
      (out("SetUDPChecksum", zero .. "\1\2\235\212")))
  end)

  it("has a second output for what it can't do", function ()
    for _, text in ipairs{changed(UDP, 6, 0x20), changed(UDP, 7, 1), UDP:sub(1, 32),
                          changed(UDP, 25, 7), ""} do
      assert.same({text, 2}, {out("SetUDPChecksum", text, {outputs = 2})})
      assert.is_nil(out("SetUDPChecksum", text))
    end
  end)
end)

describe("ResetIPChecksum", function ()
  it("sets that of IP, and others if told so", function ()
    local bad = changed(changed(UDP, 10, 1, 2), 26, 1, 2)
    assert.equal(changed(UDP, 26, 1, 2), (out("ResetIPChecksum", bad)))
    assert.equal(UDP, (out("ResetIPChecksum(true)", bad)))
    bad = changed(changed(TCP, 10, 1, 2), 36, 1, 2)
    assert.equal(TCP, (out("ResetIPChecksum(L4 true)", bad)))
    assert.is_nil(out("ResetIPChecksum", UDP:sub(1, 19)))
  end)
end)

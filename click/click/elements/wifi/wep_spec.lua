-- SPDX-License-Identifier: Apache-2.0
local chance = require("click.chance")
local click = require("testing.click")
local wifi = require("click.net.wifi")
local wireless = require("testing.wireless")

local HEADER = wireless.header(wifi.DATA, 1, wireless.POINT, wireless.STATION,
  wireless.POINT)
local PLAIN = HEADER .. "\170\170\3\0\0\0\8\0hello"

local function send(text, bytes)
  local unit = click.unit(text)
  local out = unit:send(bytes)
  unit:free()
  return out[1] and out[1][2], unit
end

local function encrypted()
  chance.seed(5)
  return (send('WepEncap(KEY "abcde", KEYID 1, ACTIVE true)', PLAIN))
end

describe("WEP", function ()
  it("encrypts as Click does", function ()
    assert.equal(HEADER:sub(1, 1) .. "\65" .. HEADER:sub(3) .. "\27\221\42\1"
      .. "\214\90\214\126\150\222\81\10\56\152\23\72\38\142\127\5"
      .. "\231", encrypted())
  end)

  it("decrypts what it has encrypted", function ()
    assert.equal(PLAIN, (send('WepDecap("abcde", 1)', encrypted())))
    chance.seed(5)
    for n = 24, 80 do
      local plain = HEADER .. ("x"):rep(n - 24)
      local hidden = send("WepEncap(KEY k, ACTIVE true)", plain)
      assert.equal(#plain + 8, #hidden)
      assert.equal(plain, (send("WepDecap(k)", hidden)))
    end
  end)

  it("lets pass what has another key, and keeps what was wrong", function ()
    local bytes = encrypted()
    assert.equal(bytes, (send('WepDecap("abcde", 2)', bytes)))
    assert.equal(bytes:sub(1, 35), (send('WepDecap("abcde", 1)', bytes:sub(1, 31)))
      .. bytes:sub(32, 35))
    local wrong, unit = send('WepDecap("abcdf", 1)', bytes)
    assert.same({#bytes, bytes:sub(1, 28), bytes:sub(-4)},
      {#wrong, wrong:sub(1, 28), wrong:sub(-4)})
    assert.same({"e :: WepDecap: crc failed keyid 1"}, unit.said)
  end)

  it("leaves frames alone that aren't meant", function ()
    for text, bytes in pairs{
      ["WepEncap(KEY k)"] = PLAIN,
      ["WepEncap(KEY k, ACTIVE true)"] = wireless.request(wifi.PROBE_REQUEST, ""),
      ["WepEncap(KEY l, ACTIVE true)"] = PLAIN:sub(1, 23), ["WepDecap(k)"] = PLAIN,
    } do
      assert.equal(bytes, (send(text, bytes)))
    end
  end)

  it("has keys of up to 16 bytes", function ()
    assert.same({"KEY has 17 bytes; it has at most 16"},
      click.unit("WepEncap(KEY 12345678901234567)").errors)
    local unit = click.unit("WepDecap(ab)")
    assert.equal("\\<6162>", unit:read("key"))
    assert.matches("at most 16 bytes", unit:write("key", "12345678901234567"))
    assert.is_nil(unit:write("key", "abcde"))
    assert.is_nil(unit:write("keyid", "1"))
    assert.same({{1, PLAIN}}, unit:send(encrypted()))
    unit:free()
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")

local TO, FROM, BSSID = "\2\0\0\0\0\1", "\2\0\0\0\0\2", "\6\0\0\0\0\9"
local FRAME = TO .. FROM .. "\8\0payload"
local SNAP = "\170\170\3\0\0\0"

-- A wireless frame of that direction with these addresses.
local function wireless(direction, ...)
  return "\8" .. string.char(direction) .. "\0\0" .. table.concat{...} .. "\0\0" .. SNAP
    .. "\8\0payload"
end

local function sent(unit, bytes)
  local out = unit:send(bytes)
  unit:free()
  return out[1] and out[1][2]
end

describe("WifiEncap and WifiDecap", function ()
  it("put the addresses where the direction wants them, and back", function ()
    for mode, frame in pairs{
      [0] = wireless(0, TO, FROM, BSSID), wireless(1, BSSID, FROM, TO),
      wireless(2, TO, BSSID, FROM),
    } do
      assert.equal(frame,
        sent(click.unit(("WifiEncap(%d, 06:00:00:00:00:09)"):format(mode)), FRAME))
      assert.equal(FRAME, sent(click.unit("WifiDecap"), frame))
    end
  end)

  it("know longer headers", function ()
    local four = wireless(3, TO, FROM, BSSID):sub(1, 24) .. "\2\0\0\0\0\7" .. SNAP
      .. "\8\0payload"
    assert.equal(FRAME, sent(click.unit("WifiDecap"), four))
    local qos = "\136" .. wireless(1, BSSID, FROM, TO):sub(2, 24) .. "\0\0" .. SNAP
      .. "\8\0payload"
    assert.equal(FRAME, sent(click.unit("WifiDecap"), qos))
    local p = packet.from_string(qos:sub(1, 26) .. "\0\0" .. qos:sub(27))
    note.clear(p)
    ffi.cast("uint32_t *", p.note8 + note.WIFI_EXTRA)[0] = 0x7492001
    p.note8[note.WIFI_EXTRA + 11] = 1 -- padded
    assert.equal(FRAME, sent(click.unit("WifiDecap"), p))
  end)

  it("leave the Ethernet header out, if it isn't wanted", function ()
    assert.equal("payload", sent(click.unit("WifiDecap(ETHER false)"),
      wireless(0, TO, FROM, BSSID)))
  end)

  it("drop what can't be", function ()
    local good = wireless(1, BSSID, FROM, TO)
    for reason, case in pairs{
      ["too short"] = {"WifiDecap", good:sub(1, 31)},
      encrypted = {"WifiDecap", "\8\65" .. good:sub(3)},
      ["no SNAP header"] = {"WifiDecap(STRICT true)", good:gsub("\170", "\171", 1)},
    } do
      local unit = click.unit(case[1])
      assert.is_nil(sent(unit, case[2]))
      assert.same({[reason] = 1}, unit.lost)
    end
    assert.equal(FRAME, sent(click.unit("WifiDecap"), (good:gsub("\170", "\171", 1))))
    local unit = click.unit("WifiEncap(0)")
    assert.is_nil(sent(unit, FRAME:sub(1, 13)))
    assert.same({["too short"] = 1}, unit.lost)
    assert.same({"MODE: out of range, bound 3"}, click.unit("WifiEncap(4)").errors)
  end)

  it("are changed by handlers", function ()
    local unit = click.unit("WifiEncap(0)")
    assert.is_nil(unit:write("mode", "1"))
    assert.is_nil(unit:write("bssid", "6:0:0:0:0:9"))
    assert.equal("mode must be 0, 1, 2 or 3", unit:write("mode", "4"))
    assert.same({1, "06-00-00-00-00-09"}, {unit:read("mode"), unit:read("bssid")})
    assert.equal(wireless(1, BSSID, FROM, TO), sent(unit, FRAME))
  end)
end)

describe("RadiotapDecap", function ()
  local function decap(bytes)
    local unit = click.unit("RadiotapDecap")
    local p = packet.from_string(bytes)
    note.clear(p)
    local q = unit:pass(p)
    local text, extra = ffi.string(q.data, q.length), q.note8 + note.WIFI_EXTRA
    local words = ffi.cast("uint32_t *", extra)
    local noted = {words[0], words[1], extra[8], extra[9], extra[11], extra[12],
      extra[21]}
    packet.free(q)
    return text, noted
  end

  it("takes the header off, and notes what it says", function ()
    -- TSFT, flags (FCS, padded), rate, channel, signal, noise, RX flags (bad FCS)
    local header = "\0\0\32\0" .. "\111\64\0\0" .. "12345678" .. "\48" .. "\22"
      .. "\108\9\160\0" .. "\200" .. "\160" .. "\1\0" .. "\0\0\0\0\0\0"
    local text, noted = decap(header .. "frameFCS.")
    assert.equal("frame", text)
    assert.same({0x7492001, 8, 200, 160, 1, 22, 0}, noted)
  end)

  it("knows fields of what was sent, and further words of bits", function ()
    -- flags, TX flags (failed), data retries, and a word of bits more
    local header = "\0\0\17\0" .. "\2\128\2\128" .. "\0\0\0\0" .. "\0" .. "\0" .. "\1\0"
      .. "\7"
    local text, noted = decap(header .. "frame")
    assert.equal("frame", text)
    assert.same({0x7492001, 3, 0, 0, 0, 0, 7}, noted)
  end)

  it("leaves headers alone that aren't sound", function ()
    for _, bytes in ipairs{"", "\0\0\8", "\1\0\8\0\0\0\0\0x", "\0\0\7\0\0\0\0\0x",
      "\0\0\10\0\0\0\0\0x", "\0\0\8\0\1\0\0\0x", "\0\0\8\0\0\0\0\128x",
      "\0\0\12\0\0\0\0\128\0\0\0\128"} do
      local text, noted = decap(bytes)
      assert.equal(bytes, text)
      assert.equal(0, noted[1])
    end
  end)
end)

describe("Prism2Decap", function ()
  local function little(n)
    return string.char(n % 256, math.floor(n / 256) % 256, 0, 0)
  end

  -- A header with the values of its ten items.
  local function header(values)
    local items = {}
    for i = 0, 9 do
      items[i + 1] = little(0x44) .. "\0\0\4\0" .. little(values[i] or 0)
    end
    return little(0x44) .. little(144) .. ("wlan0"):rep(4):sub(1, 16)
      .. table.concat(items)
  end

  local function decap(bytes, flags)
    local unit = click.unit("Prism2Decap")
    local p = packet.from_string(bytes)
    note.clear(p)
    local extra = p.note8 + note.WIFI_EXTRA
    ffi.cast("uint32_t *", extra)[1] = flags or 0
    local q = unit:pass(p)
    extra = q.note8 + note.WIFI_EXTRA
    local noted = {ffi.cast("uint32_t *", extra)[1], extra[8], extra[9], extra[12]}
    local text = ffi.string(q.data, q.length)
    packet.free(q)
    unit:free()
    return text, noted
  end

  it("takes the header off, and notes what it says", function ()
    local text, noted = decap(header{[3] = 50, [6] = 261, [7] = 22} .. "frame", 3)
    assert.equal("frame", text)
    assert.same({2, 50, 5, 22}, noted)
    text, noted = decap(header{[8] = 1})
    assert.equal("", text)
    assert.same({1, 0, 0, 0}, noted)
  end)

  it("leaves others alone", function ()
    local whole = header{}
    for _, bytes in ipairs{"", "D\0\0\0", "E" .. whole:sub(2), whole:sub(1, 143)} do
      assert.equal(bytes, (decap(bytes)))
    end
  end)
end)

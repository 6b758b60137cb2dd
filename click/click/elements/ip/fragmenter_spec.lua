-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")
local packet_bytes = require("testing.packet_bytes")

-- A packet of so many bytes of payload, of which the n-th is n.
local function of(n, flags, options)
  local payload, total = {}, 20 + #(options or "") + n
  for i = 1, n do payload[i] = string.char(i % 256) end
  local p = packet_bytes.noted(string.char(0x45 + #(options or "") / 4) .. "\0"
    .. string.char(math.floor(total / 256), total % 256) .. "\0\9"
    .. (flags or "\0\0") .. "\64\17\0\0\10\0\0\1\10\0\0\2" .. (options or "")
    .. table.concat(payload), 20)
  p.note8[note.PAINT] = 7
  return p
end

-- {offset, more, payload} of fragments, whose headers are sound.
local function parts(out)
  local list = {}
  for i, result in ipairs(out) do
    local text = result[2]
    local header, flags = text:byte(1) % 16 * 4, text:byte(7) * 256 + text:byte(8)
    assert.is_true(packet_bytes.is_sound(text))
    assert.equal(#text, text:byte(3) * 256 + text:byte(4))
    list[i] = {flags % 0x2000 * 8, flags >= 0x2000 and flags < 0x4000,
               #text - header}
  end
  return list
end

local function payload(out)
  local list = {}
  for i, result in ipairs(out) do
    list[i] = result[2]:sub(1 + result[2]:byte(1) % 16 * 4)
  end
  return table.concat(list)
end

describe("IPFragmenter", function ()
  it("lets pass what is short enough", function ()
    local unit = click.unit("IPFragmenter(60)")
    local p = of(40)
    local text = require("ffi").string(p.data, p.length)
    assert.same({{1, text}}, unit:send(p))
    unit:free()
  end)

  it("cuts what is longer, in order", function ()
    local unit = click.unit("IPFragmenter(60)")
    local out = unit:send(of(100))
    assert.same({{0, true, 40}, {40, true, 40}, {80, false, 20}}, parts(out))
    local whole = of(100)
    assert.equal(require("ffi").string(whole.data + 20, 100), payload(out))
    packet.free(whole)
    for _, p in ipairs(unit.packets) do
      assert.equal(7, p.note8[note.PAINT])
      assert.equal(p.data_off, p.note16[note.NETWORK_HEADER])
      assert.equal(p.data_off + 20, p.note16[note.TRANSPORT_HEADER])
    end
    assert.equal("3", unit:read("fragments"))
    assert.same({{0, true, 40}, {40, false, 1}}, parts(unit:send(of(41))))
    unit:free()
  end)

  it("cuts fragments again", function ()
    local unit = click.unit("IPFragmenter(60)")
    assert.same({{8, true, 40}, {48, true, 20}}, parts(unit:send(of(60, "\32\1"))))
    assert.same({{8, true, 40}, {48, false, 20}}, parts(unit:send(of(60, "\0\1"))))
    unit:free()
  end)

  it("respects Don't Fragment, or not", function ()
    local unit = click.unit("IPFragmenter(60)", {outputs = 2})
    local out = unit:send(of(41, "\64\0"))
    assert.same({2, 61}, {out[1][1], #out[1][2]})
    assert.equal("1", unit:read("drops"))
    assert.equal(1, #unit.said)
    unit:free()
    unit = click.unit("IPFragmenter(60, false)")
    assert.same({{0, true, 40}, {40, false, 1}}, parts(unit:send(of(41, "\64\0"))))
    unit:free()
  end)

  it("copies the options that are to be copied", function ()
    local unit = click.unit("IPFragmenter(60)")
    local out = unit:send(of(60, nil, "\7\3\4\130\4ab\0"))
    assert.equal("\7\3\4\130\4ab\0", out[1][2]:sub(21, 28))
    assert.equal("\130\4ab", out[2][2]:sub(21, 24))
    assert.same({{0, true, 32}, {32, false, 28}}, parts(out))
    unit:free()
  end)

  it("makes as many as it takes", function ()
    local unit = click.unit("IPFragmenter(28)")
    local out = unit:send(of(10000))
    assert.equal(1250, #out)
    assert.same({0, true, 8}, parts(out)[1])
    assert.same({9992, false, 8}, parts(out)[1250])
    unit:free()
    out = click.unit("IPFragmenter(27)", {outputs = 2})
    assert.equal(2, out:send(of(100))[1][1]) -- no room for 8 bytes of payload
    out:free()
  end)

  it("drops what isn't sound", function ()
    local unit = click.unit("IPFragmenter(30)")
    local function lost(change)
      local p = of(60)
      change(p)
      assert.same({}, unit:send(p))
      assert.same({["bad IP header"] = 1}, unit.lost)
      unit.lost = {}
    end
    lost(function (p) p.note16[note.NETWORK_HEADER] = 0 end)
    lost(function (p) p.data[0] = 0x44 end)
    lost(function (p) p.data[3] = 19 end)
    lost(function (p) p.data[3] = 81 end)
    assert.same({"MTU must be at least 8"}, click.unit("IPFragmenter(7)").errors)
    -- padding doesn't count
    local p = of(60)
    p.data[3] = 30
    assert.equal(1, #unit:send(p))
    unit:free()
  end)
end)

-- SPDX-License-Identifier: Apache-2.0
local associations = require("click.net.associations")
local click = require("testing.click")
local ffi = require("ffi")
local note = require("click.note")
local packet = require("core.packet")

local ASSOCIATION = note.IPSEC_SA_DATA_REFERENCE * 2

local CIPHER, AUTH = "", ""
for i = 0, 15 do
  CIPHER, AUTH = CIPHER .. string.char(i), AUTH .. string.char(100 + i)
end
local SPI, START = 234, 300

-- Made by Python's hmac, and by AES-ECB of its "cryptography" a block at a time.
local ESP = "\0\0\0\234\0\0\1\44vector!!"
local WHOLE = {
  plain = ESP .. "data and more!\0\4",
  digest = "\165\111\89\10\93\86\153\243\46\247\34\208",
  wire = ESP .. "\204\40\245\14\131\151\175\133\197\111\104\111\92\95\123\164"
    .. "\165\111\89\10\93\86\153\243\46\247\34\208",
}
-- Where eight bytes of the digest are encrypted, too.
local HALF = {
  plain = ESP .. "data w\0\4", digest = "\33\139\115\146\53\68\142\213\10\151\108\241",
  wire = ESP .. "\35\61\21\113\230\78\114\136\34\213\79\231\169\176\245\1"
    .. "\10\151\108\241",
}
-- Of so many "x".
local DIGESTS = {
  [0] = "\237\89\199\118", [55] = "\41\115\30\240", [56] = "\203\107\108\60",
  [63] = "\26\79\66\247", [64] = "\255\210\182\246", [65] = "\142\8\123\218",
  [119] = "\93\27\161\115", [120] = "\163\53\64\46", [200] = "\90\148\208\120",
}

local function noted(text, sa)
  local p = packet.from_string(text)
  note.clear(p)
  p.note32[ASSOCIATION] = sa and sa.number or 0
  return p
end

describe("IPsec elements", function ()
  local sa

  before_each(function () sa = associations.add(SPI, CIPHER, AUTH, START, 64) end)
  after_each(function () associations.remove(sa) end)

  local function through(name, text)
    local unit = click.unit(name)
    local out = unit:send(noted(text, sa))[1]
    unit:free()
    return out and out[2], unit
  end

  it("have other vectors after each start, with any seed", function ()
    local function vector()
      math.randomseed(1)
      local one = associations.add(SPI, CIPHER, AUTH, START, 64)
      local text = ffi.string(associations.next_vector(one), 8)
      associations.remove(one)
      return text
    end
    assert.not_equal(vector(), vector())
  end)

  it("encrypt and decrypt", function ()
    for _, case in ipairs{WHOLE, HALF} do
      local text = case.plain .. case.digest
      assert.equal(case.wire, through("IPsecAES(1)", text))
      assert.equal(text, through("IPsecAES(0)", case.wire))
    end
    local long = ESP .. ("\0"):rep(1004)
    local out = through("IPsecAES(0)", (through("IPsecAES(1)", long)))
    assert.equal(long, out)
  end)

  it("add digests, and check them", function ()
    for n, digest in pairs(DIGESTS) do
      local out = through("IPsecAuthHMACSHA1(0)", ("x"):rep(n))
      assert.equal(digest, out:sub(n + 1, n + 4))
      assert.equal(n + 12, #out)
    end
    for _, case in ipairs{WHOLE, HALF} do
      local text = case.plain .. case.digest
      assert.equal(text, through("IPsecAuthHMACSHA1(0)", case.plain))
      assert.equal(case.plain, through("IPsecAuthHMACSHA1(1)", text))
      local out, unit = through("IPsecAuthHMACSHA1(1)", "x" .. text)
      assert.is_nil(out)
      assert.same({"Invalid SHA1 authentication digest"}, unit.said)
      assert.equal("1", unit:read("drops"))
    end
    assert.is_nil(through("IPsecAuthHMACSHA1(1)", "short"))
    local unit = click.unit("IPsecAuthHMACSHA1(1)", {outputs = 2})
    assert.equal(2, unit:send(noted(("x"):rep(20), sa))[1][1])
    unit:free()
  end)

  it("put ESP around packets, and take it off", function ()
    local seen = {}
    for n = 0, 20 do
      local unit, data = click.unit("IPsecESPEncap"), ("d"):rep(n)
      local out = unit:send(noted(data, sa))[1][2]
      unit:free()
      assert.equal("\0\0\0\234\0\0\1" .. string.char(44 + n), out:sub(1, 8))
      assert.equal(0, #out % 8)
      assert.equal(("\1\2\3\4\5\6\7"):sub(1, #out - 18 - n), out:sub(17 + n, -3))
      assert.is_nil(seen[out:sub(9, 16)])
      seen[out:sub(9, 16)] = true
      assert.equal(data, through("IPsecESPUnencap", out))
    end
  end)

  it("say of which protocol a packet was", function ()
    local unit = click.unit("IPsecESPEncap")
    local p = noted(("\0"):rep(9) .. "\17" .. ("\0"):rep(20), sa)
    p.note16[note.NETWORK_HEADER] = p.data_off
    assert.equal("\17", unit:send(p)[1][2]:sub(-1))
    unit:free()
  end)

  it("refuse packets that are replayed, or late", function ()
    local function accepts(number)
      return associations.refuse(sa, number) == nil
    end
    assert.is_false(accepts(0))
    assert.is_true(accepts(300))
    assert.is_false(accepts(300))
    assert.is_true(accepts(310))
    assert.is_true(accepts(305))
    assert.is_false(accepts(305))
    assert.is_true(accepts(372))
    assert.is_false(accepts(308))
    assert.is_true(accepts(309))
    assert.is_false(accepts(310))
    assert.is_true(accepts(100000))
    assert.is_false(accepts(372))
    assert.is_true(accepts(300)) -- the peer has begun anew
    assert.is_true(accepts(301))
    sa.highest, sa.seen = START, 1ULL
    local out, unit = through("IPsecESPUnencap", WHOLE.plain)
    assert.is_nil(out)
    assert.same({"Replay protection: This packet is already seen..."}, unit.said)
  end)

  it("begin numbers anew after the last one", function ()
    sa.count = 2 ^ 32 - 1
    assert.equal(2 ^ 32 - 1, associations.next_number(sa))
    assert.equal(START, associations.next_number(sa))
  end)

  it("drop what isn't as it should be", function ()
    for _, name in ipairs{"IPsecESPEncap", "IPsecESPUnencap", "IPsecAuthHMACSHA1(0)",
      "IPsecAES(0)"} do
      local unit = click.unit(name)
      assert.same({}, unit:send(noted(WHOLE.plain, nil)))
      assert.same({["no association"] = 1}, unit.lost)
    end
    for _, text in ipairs{ESP, ESP .. "a", ESP .. "\1\0\1\4", ESP .. "\255\4"} do
      assert.is_nil(through("IPsecESPUnencap", text))
      sa.highest, sa.seen = START, 0ULL
    end
    assert.is_nil(through("IPsecAES(1)", ESP .. ("x"):rep(12)))
    assert.is_nil(through("IPsecAES(1)", ESP .. ("x"):rep(25)))
  end)

  it("put IP headers to the tunnel's other end before packets", function ()
    local unit = click.unit("IPsecEncap(50)")
    local p = noted("data", sa)
    p.note32[note.DST_IP] = 0x0100000a
    local q = unit:pass(p)
    assert.equal("\69\0\0\24\0\0\0\0\250\50\182\179\0\0\0\0\10\0\0\1data",
      ffi.string(q.data, q.length))
    assert.equal(1, q.note8[note.FIX_IP_SRC])
    packet.free(q)
  end)
end)

local ROUTES = "10.0.0.1/32 0, 10.0.0.2/32 3, 10.1.0.0/16 4, "
  .. "10.2.0.0/16 10.0.0.2 1 234 000102030405060708090A0B0C0D0E0F "
  .. "112233445566778899AABBCCDDEEFF00 300 64, "
  .. "10.3.0.0/16 10.0.0.2 1 235 '0123456789abcdef' '0123456789abcdef' 300 64"

describe("RadixIPsecLookup", function ()
  local unit

  local function send(address, text)
    local p = noted(text or ("\69" .. ("\0"):rep(30)))
    p.note32[note.DST_IP] = require("click.net.wire").word_of(address)
    return unit:pass(p)
  end

  before_each(function ()
    unit = click.unit("RadixIPsecLookup(" .. ROUTES .. ")", {outputs = 5})
  end)
  after_each(function ()
    unit.element:cleanup()
    unit:free()
  end)

  it("sends packets into tunnels", function ()
    for net, spi in pairs{[2] = 234, [3] = 235} do
      local p, output = send(0x0a000005 + net * 65536)
      assert.equal(2, output)
      assert.equal(spi, p.note32[note.IPSEC_SPI])
      assert.equal(spi, associations.find(p.note32[ASSOCIATION]).spi)
      assert.equal(0x0200000a, p.note32[note.DST_IP])
      packet.free(p)
    end
    local p, output = send(0x0a010005)
    assert.same({5, 0}, {output, p.note32[ASSOCIATION]})
    packet.free(p)
    assert.is_nil(send(0x0b000000))
  end)

  it("knows the tunnels that packets come out of", function ()
    local function esp(spi)
      return "\70" .. ("\0"):rep(8) .. "\50" .. ("\0"):rep(14) .. "\0\0\0" .. spi
    end
    local p, output = send(0x0a000001, esp("\235"))
    assert.equal(1, output)
    assert.equal(235, associations.find(p.note32[ASSOCIATION]).spi)
    packet.free(p)
    assert.is_nil(send(0x0a000001, esp("\7")))
    assert.same({"Invalid SPI 7, Dropping packet"}, unit.said)
    assert.is_nil(send(0x0a000001, esp("")))
    p, output = send(0x0a000001, "\69" .. ("\0"):rep(30))
    assert.equal(3, output)
    packet.free(p)
  end)

  it("shows tunnels without their keys, and removes them", function ()
    assert.equal("10.2.0.0/16\t\t10.0.0.2\t1  |TUNNELED CONNECTION| SPI 234",
      unit:read("table"):match("10%.2[^\n]+"))
    assert.equal("1 10.0.0.2", unit:read("lookup", "10.3.0.1"))
    assert.is_nil(unit:write("remove", "10.3.0.0/16 10.0.0.2 1"))
    assert.equal("-1", unit:read("lookup", "10.3.0.1"))
  end)

  it("checks its arguments", function ()
    for _, rest in ipairs{"234", "234 ab cd 300 64", "234 %s %s 300",
      "234 %s %s 300 256", "x %s %s 300 64", "234 %s %s 300 64 1"} do
      local key = ("0"):rep(32)
      local u = click.unit(("RadixIPsecLookup(10.2.0.0/16 1 %s)"):format(
        rest:gsub("%%s", key)), {outputs = 2})
      assert.same({"argument 1 should be 'ADDR/MASK [GATEWAY] OUTPUT'"}, u.errors)
    end
  end)
end)

describe("IPsecESPEncap", function ()
  it("takes arguments that say nothing", function ()
    assert.same({}, click.unit("IPsecESPEncap(SPI 3, 4)").errors or {})
    assert.same({}, click.unit("Suppressor(1)").errors or {})
  end)
end)

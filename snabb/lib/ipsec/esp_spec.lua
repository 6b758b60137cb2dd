-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local aes_gcm = require("lib.ipsec.aes_gcm")
local esp = require("lib.ipsec.esp")
local lib = require("core.lib")
local packet = require("core.packet")
local seq_no_t = require("lib.ipsec.seq_no_t")
local state = require("testing.state_folder")

local CONF = {spi = 0x1234, aead = "aes-gcm-16-icv",
  key = "00112233445566778899AABBCCDDEEFF", salt = "00112233",
  resync_threshold = 16, resync_attempts = 8}

local function with(changes)
  local conf = {}
  for key, value in pairs(CONF) do conf[key] = value end
  for key, value in pairs(changes or {}) do conf[key] = value end
  return conf
end

local function bytes(hex) return lib.hexundump(hex, #hex / 2) end

-- An IPv6 packet in an Ethernet frame.
local function frame(payload)
  return ("\2"):rep(12) .. "\134\221\96\0\0\0"
    .. string.char(math.floor(#payload / 256), #payload % 256) .. "\17\64"
    .. ("\9"):rep(32) .. payload
end

local function content(p) return ffi.string(p.data, p.length) end

local MODES = {
  transport = {
    seal = function (e, data)
      return e:encapsulate_transport6(packet.from_string(data))
    end,
    open = function (d, p) return d:decapsulate_transport6(p) end,
  },
  tunnel = {
    seal = function (e, data) return e:encapsulate_tunnel(packet.from_string(data),
      42) end,
    open = function (d, p) return (d:decapsulate_tunnel(p)) end,
  },
}

describe("lib.ipsec.aes_gcm", function ()
  -- draft-mcgrew-gcm-test-01, test cases 6 and 10.
  it("gives the published values", function ()
    for _, case in ipairs{
      {128, "abbccddef00112233445566778899aabb", "decaf888", 0x100, 0, 1,
        "cafedebaceface74", "746f016265016f72016e6f7401746f0162650001",
        "29c9fc69a197d038ccdd14e2ddfcaa0543332164412503524303ed3c6c5f283843af8c3e"},
      {256, ("abbccddef00112233445566778899aab"):rep(2), "73616c74", 0x17405e67,
        0x156f3126, 0xdd0db99b, "616e640169766563",
        "45080028732c00004006e9f90a0106120a01038f06b88023dd6bafbecb71260250101f64"
        .. "6d540001",
        "f2d69ecdbd5a0d5b8d5ef38bad4da58d1f278fde98ef67549d524a3018d9a57ff4d3a31ce67311"
        .. "9e451626c2415771e3b7eebca614c89b35"},
    } do
      local bits, key, salt, spi, high, low, iv, plain, sealed = unpack(case)
      local cipher = aes_gcm[("aes_%d_gcm"):format(bits)]:new(spi, key, salt)
      plain, sealed = bytes(plain), bytes(sealed)
      local to = ffi.new("uint8_t[?]", #sealed)
      cipher:encrypt(to, bytes(iv), low, high, plain, #plain, to + #plain)
      assert.equal(sealed, ffi.string(to, #sealed))
      assert.is_true(cipher:decrypt(to, low, high, bytes(iv), to, #plain))
      assert.equal(plain, ffi.string(to, #plain))
      assert.is_false(cipher:decrypt(to, low, high, bytes(iv), to, #plain))
    end
  end)

  it("tells nobody a key that is wrong", function ()
    for _, bad in ipairs{{key = "5ecre7"}, {key = ("5ecre7"):rep(20)},
      {salt = "5ecre"}} do
      local ok, err = pcall(esp.encrypt.new, esp.encrypt, with(bad))
      assert.is_false(ok)
      assert.matches("must be %d+ hexadecimal digits", tostring(err))
      assert.is_nil(tostring(err):find("5ecre", 1, true))
    end
  end)
end)

describe("lib.ipsec.esp", function ()
  setup(state.make)
  teardown(state.remove)

  it("tells the sizes that Snabb's programs read", function ()
    local d = esp.decrypt:new(CONF)
    assert.same({36, 16, 32}, {d.MIN_SIZE, d.CTEXT_OFFSET, d.PLAIN_OVERHEAD})
  end)

  it("writes the header of RFC 4303 over the payload", function ()
    local e = esp.encrypt:new(CONF)
    local plain = frame("payload")
    local p = e:encapsulate_transport6(packet.from_string(plain))
    local sealed = content(p)
    assert.equal(plain:sub(1, 18), sealed:sub(1, 18))
    assert.equal("\0\44\50\64", sealed:sub(19, 22)) -- 8 + 8 + 7 + 3 of padding + 2 + 16
    assert.equal("\0\0\18\52\0\0\0\1", sealed:sub(55, 62))
    assert.equal(54 + 44, #sealed)
    assert.is_nil(sealed:find("payload", 1, true))
    packet.free(p)
    -- Each packet has an IV of its own, and so has one with the same key later.
    local ivs = {}
    for i = 1, 20 do
      if i == 10 then e = esp.encrypt:new(CONF) end
      p = e:encapsulate_transport6(packet.from_string(plain))
      ivs[content(p):sub(63, 70)] = true
      packet.free(p)
    end
    local n = 0
    for _ in pairs(ivs) do n = n + 1 end
    assert.equal(20, n)
  end)

  it("opens what it sealed, of any size, and nothing else", function ()
    for name, mode in pairs(MODES) do
      for _, aead in ipairs{"aes-gcm-16-icv", "aes-256-gcm-16-icv"} do
        local conf = with{aead = aead, key = CONF.key .. CONF.key,
          resync_threshold = 1e6}
        local e, d = esp.encrypt:new(conf), esp.decrypt:new(conf)
        for _, size in ipairs{0, 1, 2, 3, 4, 5, 100, 1460, 10000} do
          local plain = frame(("x"):rep(size))
          local p = mode.open(d, mode.seal(e, plain))
          assert.equal(plain, content(p), name)
          packet.free(p)
        end
        local sealed = mode.seal(e, frame("x"))
        local from = name == "transport" and 54 or 0
        for i = from, sealed.length - 1 do
          sealed.data[i] = bit.bxor(sealed.data[i], 1)
          assert.is_nil(mode.open(d, sealed), i)
          sealed.data[i] = bit.bxor(sealed.data[i], 1)
        end
        assert.equal(4, d.wrong_spi)
        assert.is_not_nil(mode.open(d, sealed))
        packet.free(sealed)
      end
    end
  end)

  it("takes neither what is too short nor what would be too long", function ()
    local e, d = esp.encrypt:new(CONF), esp.decrypt:new(CONF)
    local long = packet.from_string(("x"):rep(10240 - 33))
    assert.is_nil(e:encapsulate_transport6(long))
    assert.is_nil(e:encapsulate_tunnel(long, 4))
    for size = 0, 89 do
      local p = packet.from_string(("x"):rep(size))
      if size < 54 then assert.is_nil(e:encapsulate_transport6(p)) end
      assert.is_nil(d:decapsulate_transport6(p))
      assert.is_nil(d:decapsulate_tunnel(p))
      packet.free(p)
    end
    packet.free(long)
  end)

  -- Seal a packet as number `n`; is it taken?
  local function taken(mode, e, d, n)
    e.seq.no = n - 1ULL
    local p = mode.seal(e, frame("x"))
    local opened = mode.open(d, p)
    packet.free(opened or p)
    return opened ~= nil
  end

  it("takes no packet twice, and none from before its window", function ()
    for _, mode in pairs(MODES) do
      for _, offset in ipairs{0, 2 ^ 32 - 7} do
        local e, d = esp.encrypt:new(CONF),
          esp.decrypt:new(with{resync_threshold = 1e6})
        d.seq.no = offset
        for i = 2, 14, 2 do assert.is_true(taken(mode, e, d, offset + i)) end
        for i = 1, 15 do
          assert.equal(i % 2 == 1, taken(mode, e, d, offset + i))
          assert.equal(offset + math.max(i, 14), tonumber(d.seq.no))
        end
        assert.is_true(taken(mode, e, d, offset + 200))
        assert.is_false(taken(mode, e, d, offset + 200 - 128))
        assert.is_true(taken(mode, e, d, offset + 200 - 127))
      end
    end
  end)

  it("finds its way back after 2^32 packets were lost, but not to old ones", function ()
    for _, mode in pairs(MODES) do
      local e, d = esp.encrypt:new(CONF), esp.decrypt:new(CONF)
      assert.is_true(taken(mode, e, d, 1))
      local later = 3 * 2 ^ 32 + 24
      for i = 1, CONF.resync_threshold do
        assert.is_false(taken(mode, e, d, later + i))
      end
      assert.is_true(taken(mode, e, d, later + 17))
      assert.equal(3, d.seq:high())
      for i = 1, 2 * CONF.resync_threshold do assert.is_false(taken(mode, e, d,
        42 + i)) end
    end
  end)

  it("refuses arguments that can't be", function ()
    for _, bad in ipairs{{aead = "des"}, {spi = -1}, {spi = "x"}, {window_size = 0}} do
      assert.has_error(function () esp.decrypt:new(with(bad)) end)
    end
  end)
end)

describe("lib.ipsec.seq_no_t", function ()
  it("has two halves", function ()
    local n = ffi.new(seq_no_t)
    n:low(2 ^ 32 - 1)
    n:high(5)
    assert.equal(5 * 2 ^ 32 + 2 ^ 32 - 1, tonumber(n.no))
    n.no = n.no + 1
    assert.same({0, 6}, {n:low(), n:high()})
  end)
end)

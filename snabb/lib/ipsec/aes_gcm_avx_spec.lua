-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local gcm = require("lib.ipsec.aes_gcm_avx")

local bytes = require("net.wire.bytes").from_hex

local function keys_of(key)
  local data = ffi.new("gcm_data __attribute__((aligned(16)))")
  gcm[("aes_keyexp_%d_enc_avx"):format(#key * 8)](key, data)
  return data
end

-- What encryption or decryption ("enc", "dec") of the text gives, and the tag.
local function run(what, key, iv, aad, text)
  local data = keys_of(key)
  local block = ffi.new("uint8_t[16]")
  if #aad > 16 then
    gcm.aad_prehash(data, block, aad, #aad)
  else
    ffi.copy(block, aad, #aad)
  end
  local to, tag = ffi.new("uint8_t[?]", #text + 1), ffi.new("uint8_t[16]")
  gcm[("aesni_gcm_%s_%d_avx_gen4"):format(what, #key * 8)](data, to, text, #text,
    iv .. "\0\0\0\1", block, #aad, tag, 16)
  assert.equal(0, to[#text])
  return ffi.string(to, #text), ffi.string(tag, 16)
end

-- McGrew and Viega, "The Galois/Counter Mode of Operation", appendix B.
local PLAIN = bytes[[d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
  1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39]]
local AAD = bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2")
local IV = bytes("cafebabefacedbaddecaf888")
local KEY = bytes("feffe9928665731c6d6a8f9467308308")

local CASES = {
  {KEY, AAD, PLAIN,
    bytes[[42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e
    21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091]],
    bytes("5bc94fbc3221a5db94fae95ae7121a47")}, -- case 4
  {KEY .. KEY, AAD, PLAIN,
    bytes[[522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa
    8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662]],
    bytes("76fc6ece0f4e1768cddf8853bb2d551b")}, -- case 16
}

describe("lib.ipsec.aes_gcm_avx", function ()
  it("gives the published values", function ()
    for _, case in ipairs(CASES) do
      local key, aad, plain, secret, tag = unpack(case)
      assert.same({secret, tag}, {run("enc", key, IV, aad, plain)})
      assert.same({plain, tag}, {run("dec", key, IV, aad, secret)})
    end
    local zeros = ("\0"):rep(16)
    local _, tag = run("enc", zeros, zeros:sub(1, 12), "", "") -- case 1
    assert.equal(bytes("58e2fccefa7e3061367f1d57a4e7455a"), tag)
  end)

  -- FIPS 197, appendix C.
  it("encrypts single blocks", function ()
    for bits, expected in pairs{[128] = "69c4e0d86a7b0430d8cdb78070b4c55a",
      [256] = "8ea2b7ca516745bfeafc49904b496089"} do
      local key = {}
      for i = 0, bits / 8 - 1 do key[#key + 1] = string.char(i) end
      local block = ffi.new("uint8_t[16]")
      ffi.copy(block, bytes("00112233445566778899aabbccddeeff"), 16)
      gcm[("aesni_encrypt_%d_single_block"):format(bits)](keys_of(table.concat(key)),
        block)
      assert.equal(bytes(expected), ffi.string(block, 16))
    end
  end)

  it("decrypts what it encrypted, and tells when a bit has changed", function ()
    math.randomseed(4)
    for size = 0, 100 do
      local text, aad = {}, {}
      for i = 1, size do text[i] = string.char(math.random(0, 255)) end
      for i = 1, 4 * math.random(10) do aad[i] = string.char(math.random(0, 255)) end
      text, aad = table.concat(text), table.concat(aad)
      local key = size % 2 == 0 and KEY or KEY .. KEY
      local secret, tag = run("enc", key, IV, aad, text)
      assert.same({text, tag}, {run("dec", key, IV, aad, secret)})
      local _, other = run("dec", key, IV, aad:gsub("^.", function (c)
        return string.char(bit.bxor(c:byte(), 1))
      end), secret)
      assert.not_equal(tag, other)
    end
  end)

  it("compares tags", function ()
    local a, b = ffi.new("uint8_t[16]", 7), ffi.new("uint8_t[16]", 7)
    assert.is_true(gcm.auth16_equal(a, b) == 0)
    for i = 0, 15 do
      b[i] = 6
      assert.is_false(gcm.auth16_equal(a, b) == 0)
      b[i] = 7
    end
  end)
end)

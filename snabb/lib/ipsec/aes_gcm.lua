-- SPDX-License-Identifier: Apache-2.0
-- AES-GCM as ESP uses it (RFC 4106): a nonce of 4 bytes of salt and 8 of IV, 16 bytes
-- of authentication tag, and SPI and extended sequence number authenticated, too.

local ffi = require("ffi")
local gcm = require("lib.ipsec.aes_gcm_avx")
local failure = require("core.failure")
local lib = require("core.lib")

local aes_gcm = {}

local IV_BYTES, TAG_BYTES, SALT_BYTES, AAD_BYTES = 8, 16, 4, 12
local bytes_t, words_t = ffi.typeof("uint8_t *"), ffi.typeof("uint32_t *")

local Cipher = {IV_SIZE = IV_BYTES, AUTH_SIZE = TAG_BYTES, AAD_SIZE = AAD_BYTES}
Cipher.__index = Cipher

-- The first `n` bytes that the hexadecimal digits stand for. What is wrong is said
-- without them: they are secret.
local function secret(digits, n, what)
  if type(digits) ~= "string" or #digits < 2 * n or digits:match("^%x*()") <= 2 * n then
    failure.usage("%s of ESP must be %d hexadecimal digits", what, 2 * n)
  end
  return lib.hexundump(digits:sub(1, 2 * n), n)
end

local function new(bits, spi, key, salt)
  key, salt = secret(key, bits / 8, "a key"), secret(salt, SALT_BYTES, "a salt")
  local self = setmetatable({
    data = ffi.new("gcm_data"),
    nonce = ffi.new("uint8_t[16]"), -- salt, IV, and a counter that begins at 1
    aad = ffi.new("uint8_t[16]"),
    tag = ffi.new("uint8_t[16]"),
    seal = gcm[("aesni_gcm_enc_%d_avx_gen4"):format(bits)],
    open = gcm[("aesni_gcm_dec_%d_avx_gen4"):format(bits)],
  }, Cipher)
  gcm[("aes_keyexp_%d_enc_avx"):format(bits)](key, self.data)
  ffi.copy(self.nonce, salt, SALT_BYTES)
  self.nonce[15] = 1
  self.aad_words = ffi.cast(words_t, self.aad)
  self.aad_words[0] = lib.htonl(spi)
  return self
end

local function prepare(self, iv, low, high)
  ffi.copy(self.nonce + SALT_BYTES, iv, IV_BYTES)
  self.aad_words[1], self.aad_words[2] = lib.htonl(high), lib.htonl(low)
end

--- Encrypt `size` bytes at `from` to `to` (which may be the same), with the 8 bytes at
--- `iv`, as the packet of that sequence number, of which `low` and `high` are the
--- halves. The 16 bytes of the tag go to `tag`.
function Cipher:encrypt(to, iv, low, high, from, size, tag)
  prepare(self, iv, low, high)
  self.seal(self.data, to, from, size, self.nonce, self.aad, AAD_BYTES, tag or self.tag,
    TAG_BYTES)
end

--- Decrypt `size` bytes, behind which the tag is; whether that is right.
function Cipher:decrypt(to, low, high, iv, from, size)
  prepare(self, iv, low, high)
  self.open(self.data, to, from, size, self.nonce, self.aad, AAD_BYTES, self.tag,
    TAG_BYTES)
  return gcm.auth16_equal(self.tag, ffi.cast(bytes_t, from) + size) == 0
end

for _, bits in ipairs{128, 256} do
  --- aes_gcm.aes_128_gcm:new(spi, key, salt), and aes_256_gcm: a cipher; key and salt
  --- are hexadecimal digits.
  aes_gcm[("aes_%d_gcm"):format(bits)] = {
    new = function (_, spi, key, salt) return new(bits, spi, key, salt) end,
  }
end

return aes_gcm

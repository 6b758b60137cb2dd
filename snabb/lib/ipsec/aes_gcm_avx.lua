-- SPDX-License-Identifier: Apache-2.0
-- AES-GCM for Snabb's lib.ipsec.aes_gcm (snabb/native/aes_gcm.c), under the names of
-- the machine code that it has upstream. Keys and what is made of them are a
-- `gcm_data`.

local ffi = require("ffi")
local C = require("core.declare")("native/snabb.h")
local arguments = require("core.lib.arguments")
local failure = require("core.failure")

ffi.cdef(("typedef struct gcm_data { uint8_t room[%d]; } gcm_data;"):format(
  C.pg_gcm_room()))

local call = ffi.new("struct gcm_call")

local aes_gcm_avx = {}

-- The tag is written to `tag`; it isn't compared.
local function runner(bits, encrypts)
  return function (data, to, from, size, iv, aad, aad_size, tag, tag_size)
    if type(data) ~= "cdata" then
      arguments.refuse("aes_gcm_avx", 1, data, "a gcm_data")
    end
    call.to, call.from, call.size = to, from, size
    call.iv, call.aad, call.aad_size = iv, aad, aad_size
    call.tag, call.tag_size = tag, tag_size
    call.bits, call.encrypts = bits, encrypts
    C.pg_gcm_run(data, call)
  end
end

for _, bits in ipairs{128, 256} do
  --- Make a gcm_data of the key, a pointer or a string of 16 or 32 bytes.
  aes_gcm_avx[("aes_keyexp_%d_enc_avx"):format(bits)] = function (key, data)
    if C.pg_gcm_expand(data, key, bits) < 0 then
      failure.raise("%s", ffi.string(C.pg_error()))
    end
  end
  --- Encrypt 16 bytes with AES alone.
  aes_gcm_avx[("aesni_encrypt_%d_single_block"):format(bits)] = function (data, block)
    C.pg_aes_block(data, block, bits)
  end
  --- Encrypt or decrypt `size` bytes (data, to, from, size, iv, aad, aad_size, tag,
  --- tag_size). `aad` has 16 bytes: those to authenticate, or what aad_prehash made.
  aes_gcm_avx[("aesni_gcm_enc_%d_avx_gen4"):format(bits)] = runner(bits, true)
  aes_gcm_avx[("aesni_gcm_dec_%d_avx_gen4"):format(bits)] = runner(bits, false)
end

--- Does nothing: the keys are made at once.
function aes_gcm_avx.aesni_gcm_precomp_avx_gen4() end

--- Write 16 bytes to `block` that stand for the `size` bytes at `aad`.
function aes_gcm_avx.aad_prehash(data, block, aad, size)
  C.pg_gcm_prehash(data, block, aad, size)
end

--- 0 if the 16 bytes at `a` and `b` are the same. Takes as long if they aren't.
function aes_gcm_avx.auth16_equal(a, b)
  a, b = ffi.cast("const uint64_t *", a), ffi.cast("const uint64_t *", b)
  return bit.bor(bit.bxor(a[0], b[0]), bit.bxor(a[1], b[1]))
end

for _, bits in ipairs{128, 256} do -- these aren't called for each packet
  arguments.guard(aes_gcm_avx, "aes_gcm_avx", {
    [("aes_keyexp_%d_enc_avx"):format(bits)] = "pointer pointer",
    [("aesni_encrypt_%d_single_block"):format(bits)] = "pointer pointer",
  })
end
arguments.guard(aes_gcm_avx, "aes_gcm_avx",
  {aad_prehash = "pointer pointer pointer count"})

return aes_gcm_avx

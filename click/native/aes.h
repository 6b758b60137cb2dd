/* SPDX-License-Identifier: Apache-2.0
 *
 * AES-128 (FIPS 197), a block at a time, by the instructions of x86-64 (AES-NI) or arm64
 * (its Cryptographic Extension). Both want round keys in the same form: those to decrypt
 * backwards, all but the first and last by InvMixColumns (FIPS 197, section 5.3.5).
 */
#ifndef PERIGEE_CLICK_AES_H
#define PERIGEE_CLICK_AES_H

#include <stdbool.h>
#include <stdint.h>

enum { BLOCK = 16, HALF = 8, ROUNDS = 10 };

#ifdef __x86_64__

#include <immintrin.h>

#define WITH_AES __attribute__((target("aes")))

typedef __m128i aes_block;

static inline bool aes_is_there(void) { return __builtin_cpu_supports("aes"); }

static inline aes_block aes_load(const void *at)
{
  return _mm_loadu_si128((const __m128i *)at);
}

static inline void aes_store(void *at, aes_block x) { _mm_storeu_si128((__m128i *)at, x); }

static inline aes_block aes_load_half(const void *at)
{
  return _mm_loadl_epi64((const __m128i *)at);
}

static inline aes_block aes_first_half(aes_block x) { return _mm_move_epi64(x); }

static inline aes_block aes_add(aes_block x, aes_block y) { return _mm_xor_si128(x, y); }

WITH_AES
static inline aes_block aes_unmix(aes_block x) { return _mm_aesimc_si128(x); }

WITH_AES
static aes_block aes_next_key(aes_block key, aes_block assist)
{
  assist = _mm_shuffle_epi32(assist, 0xff);
  key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
  key = _mm_xor_si128(key, _mm_slli_si128(key, 8));
  return _mm_xor_si128(key, assist);
}

WITH_AES
static void aes_expand(aes_block *k, const uint8_t *key)
{
  k[0] = aes_load(key);
#define NEXT(i, constant) k[i] = aes_next_key(k[i - 1], \
                                              _mm_aeskeygenassist_si128(k[i - 1], constant))
  NEXT(1, 1), NEXT(2, 2), NEXT(3, 4), NEXT(4, 8), NEXT(5, 16);
  NEXT(6, 32), NEXT(7, 64), NEXT(8, 128), NEXT(9, 27), NEXT(10, 54);
#undef NEXT
}

WITH_AES
static inline aes_block aes_encrypt(const uint8_t (*keys)[BLOCK], aes_block x)
{
  x = aes_add(x, aes_load(keys[0]));
  for (int i = 1; i < ROUNDS; i++)
    x = _mm_aesenc_si128(x, aes_load(keys[i]));
  return _mm_aesenclast_si128(x, aes_load(keys[ROUNDS]));
}

WITH_AES
static inline aes_block aes_decrypt(const uint8_t (*keys)[BLOCK], aes_block x)
{
  x = aes_add(x, aes_load(keys[0]));
  for (int i = 1; i < ROUNDS; i++)
    x = _mm_aesdec_si128(x, aes_load(keys[i]));
  return _mm_aesdeclast_si128(x, aes_load(keys[ROUNDS]));
}

#else

#include <arm_neon.h>
#include <string.h>
#include <sys/auxv.h>

#define WITH_AES __attribute__((target("+crypto")))

typedef uint8x16_t aes_block;

static inline bool aes_is_there(void)
{
  const unsigned long hwcap_aes = 1 << 3; /* Linux, arm64/elf_hwcaps */
  return getauxval(AT_HWCAP) & hwcap_aes;
}

static inline aes_block aes_load(const void *at) { return vld1q_u8(at); }

static inline void aes_store(void *at, aes_block x) { vst1q_u8(at, x); }

static inline aes_block aes_load_half(const void *at)
{
  return vcombine_u8(vld1_u8(at), vdup_n_u8(0));
}

static inline aes_block aes_first_half(aes_block x)
{
  return vcombine_u8(vget_low_u8(x), vdup_n_u8(0));
}

static inline aes_block aes_add(aes_block x, aes_block y) { return veorq_u8(x, y); }

WITH_AES
static inline aes_block aes_unmix(aes_block x) { return vaesimcq_u8(x); }

/* SubWord: four columns that are the same stay so in ShiftRows. */
WITH_AES
static uint32_t aes_substitute(uint32_t word)
{
  aes_block x = vaeseq_u8(vreinterpretq_u8_u32(vdupq_n_u32(word)), vdupq_n_u8(0));
  return vgetq_lane_u32(vreinterpretq_u32_u8(x), 0);
}

WITH_AES
static void aes_expand(aes_block *k, const uint8_t *key)
{
  static const uint8_t constants[ROUNDS] = {1, 2, 4, 8, 16, 32, 64, 128, 27, 54};
  uint32_t w[BLOCK / 4];
  memcpy(w, key, BLOCK);
  k[0] = aes_load(w);
  for (int i = 0; i < ROUNDS; i++) {
    w[0] ^= aes_substitute(w[3] >> 8 | w[3] << 24) ^ constants[i];
    w[1] ^= w[0];
    w[2] ^= w[1];
    w[3] ^= w[2];
    k[i + 1] = aes_load(w);
  }
}

/* AESE and AESD add the key first. */
WITH_AES
static inline aes_block aes_encrypt(const uint8_t (*keys)[BLOCK], aes_block x)
{
  for (int i = 0; i < ROUNDS - 1; i++)
    x = vaesmcq_u8(vaeseq_u8(x, aes_load(keys[i])));
  return aes_add(vaeseq_u8(x, aes_load(keys[ROUNDS - 1])), aes_load(keys[ROUNDS]));
}

WITH_AES
static inline aes_block aes_decrypt(const uint8_t (*keys)[BLOCK], aes_block x)
{
  for (int i = 0; i < ROUNDS - 1; i++)
    x = vaesimcq_u8(vaesdq_u8(x, aes_load(keys[i])));
  return aes_add(vaesdq_u8(x, aes_load(keys[ROUNDS - 1])), aes_load(keys[ROUNDS]));
}

#endif
#endif

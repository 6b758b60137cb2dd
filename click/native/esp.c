/* SPDX-License-Identifier: Apache-2.0
 *
 * Ciphers of Click's IPsec tunnels: AES-128 (FIPS 197) chained as Click does it, by half
 * blocks, and HMAC-SHA-1-96 (FIPS 180-4, RFC 2104, RFC 2404).
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <immintrin.h>
#include <rte_byteorder.h>

#include "ip.h"

enum { BLOCK = 16, HALF = 8, ROUNDS = 10, SHA_BLOCK = 64, SHA_WORDS = 5, LENGTH = 8 };

#define WITH_AES __attribute__((target("aes")))

/* SHA-1 ------------------------------------------------------------------------------ */

static uint32_t rotate(uint32_t x, int n)
{
  return x << n | x >> (32 - n);
}

static void sha1_block(uint32_t *state, const uint8_t *block)
{
  uint32_t w[80];
  memcpy(w, block, SHA_BLOCK);
  for (int i = 0; i < 16; i++)
    w[i] = rte_be_to_cpu_32(w[i]);
  for (int i = 16; i < 80; i++)
    w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
  for (int i = 0; i < 80; i++) {
    uint32_t f, k;
    if (i < 20)
      f = (b & c) | (~b & d), k = 0x5a827999;
    else if (i < 40)
      f = b ^ c ^ d, k = 0x6ed9eba1;
    else if (i < 60)
      f = (b & c) | (b & d) | (c & d), k = 0x8f1bbcdc;
    else
      f = b ^ c ^ d, k = 0xca62c1d6;
    uint32_t next = rotate(a, 5) + f + e + k + w[i];
    e = d, d = c, c = rotate(b, 30), b = a, a = next;
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
}

static void sha1_start(uint32_t *state, const uint8_t *first_block)
{
  static const uint32_t start[SHA_WORDS] = {
    0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0
  };
  memcpy(state, start, sizeof start);
  sha1_block(state, first_block);
}

/* The digest of a first block, which `state` has seen, and n bytes. */
static void sha1_finish(uint32_t *state, const uint8_t *data, uint32_t n)
{
  uint64_t bits = rte_cpu_to_be_64(((uint64_t)SHA_BLOCK + n) * 8);
  uint8_t last[SHA_BLOCK] = {0};
  for (; n >= SHA_BLOCK; n -= SHA_BLOCK, data += SHA_BLOCK)
    sha1_block(state, data);
  memcpy(last, data, n);
  last[n] = 0x80;
  if (n >= SHA_BLOCK - LENGTH) {
    sha1_block(state, last);
    memset(last, 0, SHA_BLOCK);
  }
  memcpy(last + SHA_BLOCK - LENGTH, &bits, LENGTH);
  sha1_block(state, last);
  for (int i = 0; i < SHA_WORDS; i++)
    state[i] = rte_cpu_to_be_32(state[i]);
}

static void hmac_start(uint32_t *state, const uint8_t *key, uint8_t pad)
{
  uint8_t block[SHA_BLOCK];
  memset(block, pad, SHA_BLOCK);
  for (int i = 0; i < ESP_KEY; i++)
    block[i] ^= key[i];
  sha1_start(state, block);
}

/* The first ESP_DIGEST bytes of the data's HMAC. */
void pg_esp_digest(const struct esp_keys *keys, const uint8_t *data, uint32_t n,
                   uint8_t *digest)
{
  uint32_t inner[SHA_WORDS], outer[SHA_WORDS];
  memcpy(inner, keys->inner, sizeof inner);
  memcpy(outer, keys->outer, sizeof outer);
  sha1_finish(inner, data, n);
  sha1_finish(outer, (const uint8_t *)inner, sizeof inner);
  memcpy(digest, outer, ESP_DIGEST);
}

/* AES -------------------------------------------------------------------------------- */

WITH_AES
static __m128i next_key(__m128i key, __m128i assist)
{
  assist = _mm_shuffle_epi32(assist, 0xff);
  key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
  key = _mm_xor_si128(key, _mm_slli_si128(key, 8));
  return _mm_xor_si128(key, assist);
}

WITH_AES
static void expand(struct esp_keys *keys, const uint8_t *key)
{
  __m128i k[ROUNDS + 1];
  k[0] = _mm_loadu_si128((const __m128i *)key);
#define NEXT(i, constant) k[i] = next_key(k[i - 1], \
                                          _mm_aeskeygenassist_si128(k[i - 1], constant))
  NEXT(1, 1), NEXT(2, 2), NEXT(3, 4), NEXT(4, 8), NEXT(5, 16);
  NEXT(6, 32), NEXT(7, 64), NEXT(8, 128), NEXT(9, 27), NEXT(10, 54);
#undef NEXT
  for (int i = 0; i <= ROUNDS; i++) {
    __m128i back = i == 0 || i == ROUNDS ? k[ROUNDS - i] : _mm_aesimc_si128(k[ROUNDS - i]);
    _mm_storeu_si128((__m128i *)keys->encrypt[i], k[i]);
    _mm_storeu_si128((__m128i *)keys->decrypt[i], back);
  }
}

static __m128i round_key(const uint8_t (*keys)[BLOCK], int i)
{
  return _mm_loadu_si128((const __m128i *)keys[i]);
}

WITH_AES
static __m128i encrypt(const struct esp_keys *keys, __m128i x)
{
  x = _mm_xor_si128(x, round_key(keys->encrypt, 0));
  for (int i = 1; i < ROUNDS; i++)
    x = _mm_aesenc_si128(x, round_key(keys->encrypt, i));
  return _mm_aesenclast_si128(x, round_key(keys->encrypt, ROUNDS));
}

WITH_AES
static __m128i decrypt(const struct esp_keys *keys, __m128i x)
{
  x = _mm_xor_si128(x, round_key(keys->decrypt, 0));
  for (int i = 1; i < ROUNDS; i++)
    x = _mm_aesdec_si128(x, round_key(keys->decrypt, i));
  return _mm_aesdeclast_si128(x, round_key(keys->decrypt, ROUNDS));
}

static __m128i first_half(const void *at)
{
  return _mm_loadl_epi64((const __m128i *)at);
}

/* Encrypt n bytes, whole blocks: to the first half of each, the first half of what the
 * one before became is added, to that of the first `iv`. */
WITH_AES
void pg_esp_encrypt(const struct esp_keys *keys, uint8_t *data, uint32_t n,
                    const uint8_t *iv)
{
  __m128i before = first_half(iv);
  for (; n >= BLOCK; n -= BLOCK, data += BLOCK) {
    __m128i x = _mm_xor_si128(_mm_loadu_si128((const __m128i *)data), before);
    x = encrypt(keys, x);
    _mm_storeu_si128((__m128i *)data, x);
    before = _mm_move_epi64(x);
  }
}

/* The other way round. */
WITH_AES
void pg_esp_decrypt(const struct esp_keys *keys, uint8_t *data, uint32_t n,
                    const uint8_t *iv)
{
  __m128i before = first_half(iv);
  for (; n >= BLOCK; n -= BLOCK, data += BLOCK) {
    __m128i x = _mm_loadu_si128((const __m128i *)data);
    _mm_storeu_si128((__m128i *)data, _mm_xor_si128(decrypt(keys, x), before));
    before = _mm_move_epi64(x);
  }
}

/* Make all keys of these two of ESP_KEY bytes. False if this CPU has no instructions for
 * AES. */
bool pg_esp_prepare(struct esp_keys *keys, const uint8_t *cipher, const uint8_t *auth)
{
  if (!__builtin_cpu_supports("aes"))
    return false;
  expand(keys, cipher);
  hmac_start(keys->inner, auth, 0x36);
  hmac_start(keys->outer, auth, 0x5c);
  return true;
}

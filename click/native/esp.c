/* SPDX-License-Identifier: Apache-2.0
 *
 * Ciphers of Click's IPsec tunnels: AES-128 (FIPS 197) chained as Click does it, by half
 * blocks, and HMAC-SHA-1-96 (FIPS 180-4, RFC 2104, RFC 2404).
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

#include "aes.h"
#include "ip.h"

enum { SHA_BLOCK = 64, SHA_WORDS = 5, LENGTH = 8 };

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
static void expand(struct esp_keys *keys, const uint8_t *key)
{
  aes_block k[ROUNDS + 1];
  aes_expand(k, key);
  for (int i = 0; i <= ROUNDS; i++) {
    aes_store(keys->encrypt[i], k[i]);
    aes_store(keys->decrypt[i],
              i == 0 || i == ROUNDS ? k[ROUNDS - i] : aes_unmix(k[ROUNDS - i]));
  }
}

/* Encrypt n bytes, whole blocks: to the first half of each, the first half of what the
 * one before became is added, to that of the first `iv`. */
WITH_AES
void pg_esp_encrypt(const struct esp_keys *keys, uint8_t *data, uint32_t n,
                    const uint8_t *iv)
{
  aes_block before = aes_load_half(iv);
  for (; n >= BLOCK; n -= BLOCK, data += BLOCK) {
    aes_block x = aes_encrypt(keys->encrypt, aes_add(aes_load(data), before));
    aes_store(data, x);
    before = aes_first_half(x);
  }
}

/* The other way round. */
WITH_AES
void pg_esp_decrypt(const struct esp_keys *keys, uint8_t *data, uint32_t n,
                    const uint8_t *iv)
{
  aes_block before = aes_load_half(iv);
  for (; n >= BLOCK; n -= BLOCK, data += BLOCK) {
    aes_block x = aes_load(data);
    aes_store(data, aes_add(aes_decrypt(keys->decrypt, x), before));
    before = aes_first_half(x);
  }
}

/* Make all keys of these two of ESP_KEY bytes. False if this CPU has no instructions for
 * AES. */
bool pg_esp_prepare(struct esp_keys *keys, const uint8_t *cipher, const uint8_t *auth)
{
  if (!aes_is_there())
    return false;
  expand(keys, cipher);
  hmac_start(keys->inner, auth, 0x36);
  hmac_start(keys->outer, auth, 0x5c);
  return true;
}

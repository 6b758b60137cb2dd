/* SPDX-License-Identifier: Apache-2.0
 *
 * The hash of a key with a secret: NH (Black et al., UMAC, CRYPTO 1999), of which two
 * keys have the same sum with a probability of 2^-64 whoever chooses them, if he doesn't
 * know the secret; then a multiplication that spreads it over 32 bits. Where the size of
 * keys is a constant, so is the code.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define FLOW_INLINE static inline __attribute__((always_inline))

typedef unsigned __int128 flow_wide;

/* `size` bytes, 1 to 8, as a number: what is read twice doesn't matter. */
FLOW_INLINE uint64_t flow_word(const uint8_t *p, uint32_t size)
{
  uint64_t word;
  uint32_t low, high;
  if (size == 8) {
    memcpy(&word, p, 8);
    return word;
  }
  if (size >= 4) {
    memcpy(&low, p, 4);
    memcpy(&high, p + size - 4, 4);
    return low | (uint64_t)high << 32;
  }
  return p[0] | (uint64_t)p[size / 2] << 8 | (uint64_t)p[size - 1] << 16;
}

/* The hash of the key, `size` bytes (1 to 64); never 0. */
FLOW_INLINE uint32_t flow_hash_of(const uint64_t *secret, const void *key, uint32_t size)
{
  const uint8_t *p = key;
  flow_wide sum = 0;
  for (uint32_t i = 0; i < size; i += 16) {
    uint32_t left = size - i;
    uint64_t a = flow_word(p + i, left < 8 ? left : 8);
    uint64_t b = left <= 8 ? 0 : flow_word(p + i + 8, left < 16 ? left - 8 : 8);
    sum += (flow_wide)(a + secret[i / 8]) * (b + secret[i / 8 + 1]);
  }
  flow_wide spread = (flow_wide)((uint64_t)sum ^ secret[8])
                     * ((uint64_t)(sum >> 64) ^ secret[9]);
  uint32_t hash = (uint32_t)(((uint64_t)spread ^ (uint64_t)(spread >> 64)) >> 16);
  return hash | (hash == 0);
}

FLOW_INLINE bool flow_same_key(const void *x, const void *y, uint32_t size)
{
  const uint8_t *a = x, *b = y;
  uint64_t difference = 0;
  for (uint32_t i = 0; i < size; i += 8) {
    uint32_t left = size - i < 8 ? size - i : 8;
    difference |= flow_word(a + i, left) ^ flow_word(b + i, left);
  }
  return difference == 0;
}

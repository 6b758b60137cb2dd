/* SPDX-License-Identifier: Apache-2.0
 *
 * The hash of a key with a secret: Multilinear-HM (Lemire and Kaser, The Computer Journal,
 * 2014), which is strongly universal: whoever chooses two keys, and doesn't know the
 * secret, finds that they have the same hash with a probability of 2^-31. Its products
 * don't wait for each other. Then it is shuffled: of keys that count up the sums do so,
 * too, and crowd in some lines. Where the size of keys is a constant, so is the code.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { FLOW_HASH = 1 << 30 }; /* a bit that each hash has: no place with one is empty */

#define FLOW_INLINE static inline __attribute__((always_inline))

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
    if (size == 4)
      return low;
    memcpy(&high, p + size - 4, 4);
    return low | (uint64_t)high << 32;
  }
  return p[0] | (uint64_t)p[size / 2] << 8 | (uint64_t)p[size - 1] << 16;
}

/* The hash of the key, `size` bytes (1 to 64); never 0. */
FLOW_INLINE uint32_t flow_hash_of(const uint64_t *secret, const void *key, uint32_t size)
{
  const uint8_t *p = key;
  uint64_t sum = secret[0];
  for (uint32_t i = 0; i < size; i += 8) {
    uint64_t word = flow_word(p + i, size - i < 8 ? size - i : 8);
    sum += (secret[1 + i / 4] + (uint32_t)word) * (secret[2 + i / 4] + (word >> 32));
  }
  uint32_t hash = (uint32_t)(sum >> 32);
  hash = (hash ^ hash >> 15) * 0x9e3779b1; /* 2^32 by the golden ratio */
  return (hash << 16 | hash >> 16) | FLOW_HASH;
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

/* SPDX-License-Identifier: Apache-2.0
 *
 * Longest prefix matches in the tables that Snabb's lib.lpm and lib.poptrie build.
 * Functions called lpm4_... have the names that Snabb's modules call.
 */
#include <stdbool.h>
#include <stdint.h>

#include "../../src/native/api.h"
#include "../../src/net/wire/wire.h"
#include "snabb.h"

/* DIR-24-8 (Gupta, Lin and McKeown, 1998): what the address's first 24 bits lead to,
 * or with the top bit the number of 256 entries for its last 8. */
uint16_t lpm4_248_search(uint32_t ip, const uint16_t *big, const uint16_t *little)
{
  uint16_t v = big[ip >> 8];
  return v > 0x8000 ? little[(uint32_t)(v - 0x8000) << 8 | (ip & 0xff)] : v;
}

uint32_t lpm4_248_search32(uint32_t ip, const uint32_t *big, const uint32_t *little)
{
  uint32_t v = big[ip >> 8];
  return v > 0x80000000 ? little[(uint64_t)(v - 0x80000000) << 8 | (ip & 0xff)] : v;
}

/* Ranges that are counted rather than searched. */
enum { COUNTED = 32 };

/* DXR (Zec, Rizzo and Mikuc, 2012): of the ranges that the address's first 16 bits
 * select, from bottoms[] to tops[], the first that doesn't end before its last 16. */
uint16_t lpm4_dxr_search(uint32_t ip, const uint16_t *ends, const uint16_t *keys,
                         const uint32_t *bottoms, const uint32_t *tops)
{
  uint32_t at = bottoms[ip >> 16];
  uint16_t low = (uint16_t)ip;
  uint32_t left = tops[ip >> 16] - at;
  __builtin_prefetch(&keys[at + left / 2]); /* while the search is on */
  while (left > COUNTED) {
    uint32_t half = (left + 1) / 2;
    at += ends[at + half - 1] < low ? half : 0;
    left -= half;
  }
  uint32_t before = 0; /* the compiler makes vectors of this */
  for (uint32_t i = 0; i < left; i++)
    before += ends[at + i] < low;
  return keys[at + before];
}

/* Poptrie (Asai and Ohara, 2015): a node has 64 children or leaves, of which only one
 * of each run of the same leaf is kept; bits of `leaves` and `children` say which. */
struct poptrie_node {
  uint64_t leaves, children;
  uint32_t first_leaf, first_child;
};

enum { STEP = 6 };

#define DIRECT_LEAF 0x80000000u

typedef unsigned __int128 key128;

static inline uint64_t key_of_32(const uint8_t *p)
{
  return (uint64_t)get32(p) << 32;
}

static inline uint64_t key_of_64(const uint8_t *p)
{
  return get64(p);
}

static inline key128 key_of_128(const uint8_t *p)
{
  return (key128)get64(p) << 64 | get64(p + 8);
}

/* How many of the bits 0 to v are set. */
static inline uint32_t rank(uint64_t bits, unsigned v)
{
  return (uint32_t)__builtin_popcountll(bits << (v ^ 63));
}

/* A lookup of the key at `key`, where the first `direct` bits of it, if any, are an
 * index into `map`. */
#define POPTRIE_LOOKUP(bits, key_type, leaf_type, leaf_bits)                      \
  uint32_t pg_poptrie_lookup##bits##_##leaf_bits(                                 \
    const void *leaves, const void *nodes, const uint8_t *key, const void *map,   \
    uint32_t direct)                                                              \
  {                                                                               \
    key_type rest = key_of_##bits(key);                                           \
    const struct poptrie_node *node = nodes;                                      \
    if (direct) {                                                                 \
      uint32_t index = ((const uint32_t *)map)[rest >> (sizeof rest * 8 - direct)]; \
      if (index & DIRECT_LEAF)                                                    \
        return index & ~DIRECT_LEAF;                                              \
      rest <<= direct;                                                            \
      node += index;                                                              \
    }                                                                             \
    unsigned v = rest >> (sizeof rest * 8 - STEP);                                \
    while (node->children >> v & 1) {                                             \
      node = (const struct poptrie_node *)nodes +                                 \
        (node->first_child + rank(node->children, v) - 1);                        \
      rest <<= STEP;                                                              \
      v = rest >> (sizeof rest * 8 - STEP);                                       \
    }                                                                             \
    return ((const leaf_type *)leaves)[node->first_leaf + rank(node->leaves, v) - 1]; \
  }

POPTRIE_LOOKUP(32, uint64_t, uint16_t, 16)
POPTRIE_LOOKUP(64, uint64_t, uint16_t, 16)
POPTRIE_LOOKUP(128, key128, uint16_t, 16)
POPTRIE_LOOKUP(32, uint64_t, uint32_t, 32)
POPTRIE_LOOKUP(64, uint64_t, uint32_t, 32)
POPTRIE_LOOKUP(128, key128, uint32_t, 32)

/* SPDX-License-Identifier: Apache-2.0
 *
 * The switch's table: the port of each address in each VLAN, in buckets of a line of the
 * cache. It is in line: a packet asks it twice.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "vlan_switch.h"

#define ADDRESS 0xffffffffffffu
#define USED (1ull << 60) /* so that no key is an empty slot's 0 */

static inline uint64_t key_of(uint64_t mac, uint32_t vlan)
{
  return (mac & ADDRESS) | (uint64_t)vlan << 48 | USED;
}

static inline uint32_t vlan_in(uint64_t key)
{
  return (uint32_t)(key >> 48) & 0xfff;
}

static inline uint64_t load(const uint8_t *mac)
{
  uint64_t value;
  memcpy(&value, mac, sizeof value); /* two bytes more than it has */
  return value;
}

static inline struct vswitch_bucket *bucket(const struct vswitch *s, uint64_t key)
{
  unsigned __int128 product = (unsigned __int128)(key ^ s->seed) * 0x9e3779b97f4a7c15u;
  uint64_t hash = (uint64_t)product ^ (uint64_t)(product >> 64);
  return &s->table[(hash ^ hash >> 32) & s->mask];
}

static inline bool fresh(const struct vswitch *s, const struct vswitch_bucket *b, int i)
{
  return b->fixed[i] || s->now - b->seen[i] <= s->timeout;
}

/* Which of the bucket's keys it is, or -1. All are looked at: where it lies is chance,
 * and a branch for each would be one that the CPU can't foretell. */
static inline int find(const struct vswitch_bucket *b, uint64_t key)
{
  uint32_t equal = 0;
#ifdef __AVX2__
  __m256i keys = _mm256_loadu_si256((const __m256i *)b->key);
  __m256i same = _mm256_cmpeq_epi64(keys, _mm256_set1_epi64x((long long)key));
  equal = (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(same));
#else
  for (int i = 0; i < VSWITCH_WAYS; i++)
    equal |= (uint32_t)(b->key[i] == key) << i;
#endif
  return equal ? __builtin_ctz(equal) : -1;
}

/* A slot for a new key: empty, or of an address that has been quiet for long; or -1. */
static inline int slot_for(const struct vswitch *s, const struct vswitch_bucket *b)
{
  for (int i = 0; i < VSWITCH_WAYS; i++)
    if (b->key[i] == 0 || !fresh(s, b, i))
      return i;
  return -1;
}

static inline void put(const struct vswitch *s, struct vswitch_bucket *b, int i,
                       uint64_t key, uint16_t port, bool fixed)
{
  b->key[i] = key;
  b->seen[i] = s->now;
  b->port[i] = port;
  b->fixed[i] = fixed;
}

/* The port of the key, which is in this bucket if it is anywhere, or -1. */
static inline int port_in(const struct vswitch *s, const struct vswitch_bucket *b,
                          uint64_t key)
{
  int i = find(b, key);
  return i >= 0 && fresh(s, b, i) ? b->port[i] : -1;
}

/* The address has sent from the port. */
static inline void learn(struct vswitch *s, uint64_t mac, uint32_t vlan, uint16_t port)
{
  uint64_t key = key_of(mac, vlan);
  struct vswitch_bucket *b = bucket(s, key);
  int i = find(b, key);
  if (i >= 0 && b->fixed[i])
    return;
  if (i < 0)
    i = slot_for(s, b);
  if (i >= 0)
    put(s, b, i, key, port, false);
}

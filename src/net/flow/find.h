/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding a record, for C whose keys have a size that is known when it is compiled:
 * flow_find(). The same with pg_ in front is in index.c, for all sizes.
 */
#pragma once

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <stddef.h>

#include "flow.h"
#include "hash.h"

/* Keys of such sizes have code of their own. */
#define FLOW_BY_SIZE(size, f, ...)                                      \
  ((size) == 4 ? f(__VA_ARGS__, 4) : (size) == 6 ? f(__VA_ARGS__, 6)    \
   : (size) == 8 ? f(__VA_ARGS__, 8) : (size) == 12 ? f(__VA_ARGS__, 12) \
   : (size) == 16 ? f(__VA_ARGS__, 16) : (size) == 40 ? f(__VA_ARGS__, 40) \
   : f(__VA_ARGS__, (size)))

/* The line for a hash: of those there are twice `mask + 1`, or else half as many. Which is
 * chance, and a branch would be one that the processor can't guess: so it's a mask. */
FLOW_INLINE struct flow_line *flow_line_of(const struct flow_index *x, uint32_t hash)
{
  uint32_t line = hash & (2 * x->mask + 1);
  uint32_t absent = -(uint32_t)(line >= x->lines);
  return &x->line[line - (absent & (x->mask + 1))];
}

/* A bit for each place with that hash. */
FLOW_INLINE uint32_t flow_matches(const struct flow_line *line, uint32_t hash)
{
#ifdef __AVX2__
  __m256i equal = _mm256_cmpeq_epi32(_mm256_load_si256((const __m256i *)line->hash),
                                     _mm256_set1_epi32((int)hash));
  return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(equal));
#else
  uint32_t bits = 0;
  for (int i = 0; i < 8; i++)
    bits |= (uint32_t)(line->hash[i] == hash) << i;
  return bits;
#endif
}

/* Where in its line an entry with that hash is, if the place was empty. */
FLOW_INLINE uint32_t flow_home(uint32_t hash)
{
  return (uint32_t)(((uint64_t)(hash & (FLOW_HASH - 1)) * FLOW_PLACES) >> 30);
}

FLOW_INLINE uint8_t *flow_record(const struct flow_records *r, uint32_t number)
{
  return r->record + (uint64_t)number * r->size;
}

FLOW_INLINE struct flow_age *flow_age_of(const struct flow_records *r, uint32_t number)
{
  return (struct flow_age *)(flow_record(r, number) + r->age_at);
}

FLOW_INLINE const uint8_t *flow_key_of(const struct flow_index *x, uint32_t number,
                                       uint32_t size)
{
  uint32_t which = number & x->key_shift; /* 0 or 1 */
  return flow_record(x->records, number >> x->key_shift) + x->key_at + which * size;
}

/* A key that the index hasn't: 0, unless a former process had it. */
FLOW_INLINE uint32_t flow_missed(const struct flow_index *x, const void *key)
{
  return __builtin_expect(x->former != NULL, 0) ? pg_flow_index_recall(x, key) : 0;
}

/* In a line and those that go on. */
FLOW_INLINE uint32_t flow_find_in(const struct flow_index *x, const struct flow_line *line,
                                  const void *key, uint32_t hash, uint32_t size)
{
  for (;;) {
    for (uint32_t m = flow_matches(line, hash); m; m &= m - 1) {
      uint32_t number = line->number[__builtin_ctz(m)];
      if (flow_same_key(flow_key_of(x, number, size), key, size))
        return number;
    }
    uint32_t next = line->number[FLOW_PLACES];
    if (!next)
      return flow_missed(x, key);
    line = &x->more[next];
  }
}

/* The number of a key with that hash, or 0. Most are at home: the processor guesses that,
 * and needn't wait for the comparison with all eight. */
FLOW_INLINE uint32_t flow_find(const struct flow_index *x, const void *key, uint32_t hash,
                               uint32_t size)
{
  const struct flow_line *line = flow_line_of(x, hash);
  uint32_t home = flow_home(hash);
  if (line->hash[home] == hash) {
    uint32_t number = line->number[home];
    if (flow_same_key(flow_key_of(x, number, size), key, size))
      return number;
  }
  return flow_find_in(x, line, key, hash, size);
}

/* Ask for a record; for both lines where it lies on two. */
FLOW_INLINE void flow_prefetch_record(const struct flow_records *r, uint32_t number)
{
  const uint8_t *record = flow_record(r, number);
  __builtin_prefetch(record, 1);
  if (((uintptr_t)record & 63) + r->size > 64)
    __builtin_prefetch(record + r->size - 1, 1);
}

enum { FLOW_AT_ONCE = 64 };

/* Of up to 64 keys with these hashes the numbers (0: none). Each line and record is asked
 * for before the first is read, so that waits overlap. */
FLOW_INLINE void flow_find_burst(const struct flow_index *x, const uint8_t *keys,
                                 uint32_t stride, const uint32_t *hash, uint32_t n,
                                 uint32_t *numbers, uint32_t size)
{
  const struct flow_line *line[FLOW_AT_ONCE];
  for (uint32_t i = 0; i < n; i++) {
    line[i] = flow_line_of(x, hash[i]);
    __builtin_prefetch(line[i]);
  }
  for (uint32_t i = 0; i < n; i++) {
    uint32_t m = flow_matches(line[i], hash[i]);
    if (m) {
      numbers[i] = line[i]->number[__builtin_ctz(m)];
      flow_prefetch_record(x->records, numbers[i] >> x->key_shift);
    } else {
      numbers[i] = 0;
      line[i] = line[i]->number[FLOW_PLACES] ? &x->more[line[i]->number[FLOW_PLACES]]
                                             : NULL;
      __builtin_prefetch(line[i]);
    }
  }
  for (uint32_t i = 0; i < n; i++) {
    const uint8_t *key = keys + (uint64_t)i * stride;
    if (numbers[i] && flow_same_key(flow_key_of(x, numbers[i], size), key, size))
      continue;
    numbers[i] = line[i] ? flow_find_in(x, line[i], key, hash[i], size)
                         : flow_missed(x, key);
  }
}

/* Ages ------------------------------------------------------------------------------ */

enum { FLOW_MANY = 512, FLOW_PART_OF_TIME = 2 };

/* May the record stay in its place in that list? Of few only if its time is the same. Of
 * many, which don't fit into the caches, moving one touches its neighbours and costs more
 * than anything else: it stays until it has gained half of the list's time. So
 * records may go later than they could, and in another order, by so much. */
FLOW_INLINE bool flow_stays(const struct flow_records *r, const struct flow_age *age,
                            uint32_t list, int64_t expiry, int64_t now)
{
  int64_t most = r->count < FLOW_MANY ? 0 : (expiry - now) / FLOW_PART_OF_TIME;
  uint32_t gained = (uint32_t)expiry - age->queued;
  return list == age->list && (int64_t)gained <= most;
}

/* A record has been used: it is in a list from now on, until then. */
FLOW_INLINE void flow_touch(struct flow_records *r, struct flow_list *lists,
                            uint32_t number, uint32_t list, int64_t expiry, int64_t now)
{
  struct flow_age *age = flow_age_of(r, number);
  if (flow_stays(r, age, list, expiry, now)) {
    age->expiry = expiry;
    return;
  }
  pg_flow_unlink(r, &lists[age->list], number);
  age->list = (uint8_t)list;
  pg_flow_link(r, &lists[list], number, expiry);
}

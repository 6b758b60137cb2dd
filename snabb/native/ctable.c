/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of Snabb's hash tables (snabb/lib/ctable.lua), and what is done to it: Robin
 * Hood hashing (Celis, 1986). Entries are in the order of their hashes, each at the
 * slot its hash stands for or after it, with no gap between the two. Slots from 0
 * to size + max_displacement have a hash, NO_HASH where there is no entry; the last
 * of them never has one, so that searches end.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_prefetch.h>

#include "../../src/native/api.h"
#include "../../src/net/wire/wire.h"
#include "snabb.h"

#define NO_HASH UINT32_MAX

enum { KEY_AT = 4, BLOCK = 64, LINE = 64, MOST_LINES = 4 };

static inline uint32_t hash_at(const uint8_t *entry)
{
  return load32(entry);
}

static inline void set_hash(uint8_t *entry, uint32_t hash)
{
  memcpy(entry, &hash, sizeof hash);
}

static inline uint64_t home(const struct ctable *t, uint32_t hash)
{
  return (uint64_t)((double)hash * t->scale);
}

static inline uint8_t *entry_at(const struct ctable *t, uint64_t index)
{
  return t->entries + index * t->entry_size;
}

/* Numbers are hashed as the 64 bits that they are converted to. */
static uint64_t number_at(const struct ctable *t, const void *key)
{
  union { int8_t i8; int16_t i16; int32_t i32; int64_t i64; float f; double d; } n;
  uint64_t u = 0;
  memcpy(&n, key, t->key_size);
  memcpy(&u, key, t->key_size);
  if (t->key_kind == CTABLE_FLOAT)
    return (uint64_t)(int64_t)(t->key_size == 4 ? n.f : n.d);
  if (t->key_kind == CTABLE_UNSIGNED)
    return u;
  switch (t->key_size) {
    case 1: return (uint64_t)n.i8;
    case 2: return (uint64_t)n.i16;
    case 4: return (uint64_t)n.i32;
    default: return u;
  }
}

static inline uint32_t hash_of(const struct ctable *t, const void *key)
{
  if (t->key_kind == CTABLE_BYTES)
    return pg_siphash(&t->hash, key);
  return pg_siphash_u64(&t->hash, number_at(t, key));
}

static inline bool same_key(const struct ctable *t, const void *a, const void *b)
{
  switch (t->key_size) { /* the sizes that have instructions of their own */
    case 4: return memcmp(a, b, 4) == 0;
    case 8: return memcmp(a, b, 8) == 0;
    case 16: return memcmp(a, b, 16) == 0;
    default: return memcmp(a, b, t->key_size) == 0;
  }
}

/* A memcpy() of its own is faster where `n` is small, and not known to the compiler. */
static inline void copy(uint8_t *to, const uint8_t *from, uint32_t n)
{
  for (; n >= 8; n -= 8, to += 8, from += 8)
    memcpy(to, from, 8);
  for (; n; n--)
    *to++ = *from++;
}

static inline uint8_t *find(const struct ctable *t, uint32_t hash, const void *key)
{
  uint8_t *entry = entry_at(t, home(t, hash));
  while (hash_at(entry) < hash)
    entry += t->entry_size;
  for (; hash_at(entry) == hash; entry += t->entry_size)
    if (same_key(t, entry + KEY_AT, key))
      return entry;
  return NULL;
}

static inline void prefetch(const struct ctable *t, const uint8_t *entry)
{
  uint32_t bytes = 2 * t->entry_size; /* few entries are displaced by more than one */
  if (bytes > MOST_LINES * LINE)
    bytes = MOST_LINES * LINE;
  for (uint32_t at = 0; at < bytes; at += LINE)
    rte_prefetch0(entry + at);
}

/* Fill `hashes` with those of n keys, the first at `keys`, an entry's size apart, and
 * fetch the places of the table where they may be. */
static void approach(const struct ctable *t, const uint8_t *keys, uint32_t *hashes,
                     uint32_t n)
{
  if (t->key_kind == CTABLE_BYTES)
    pg_siphash_many(&t->hash, keys, hashes, n);
  else
    for (uint32_t i = 0; i < n; i++)
      hashes[i] = hash_of(t, keys + (size_t)i * t->entry_size);
  for (uint32_t i = 0; i < n; i++)
    prefetch(t, entry_at(t, home(t, hashes[i])));
}

static void clear(struct ctable *t, uint64_t from, uint64_t to)
{
  for (uint64_t i = from; i < to; i++)
    set_hash(entry_at(t, i), NO_HASH);
}

/* Memory for t->size entries, displaced by up to t->displacement_limit; false if
 * there is none. Everything else in `t` is as the caller left it. */
bool pg_ctable_open(struct ctable *t)
{
  uint64_t limit = t->displacement_limit;
  uint64_t room = (uint64_t)t->size + (2 * limit < t->size ? 2 * limit : t->size) + 1;
  t->bytes = room * t->entry_size;
  void *memory = mmap(NULL, t->bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  madvise(memory, t->bytes, MADV_HUGEPAGE);
  t->entries = memory;
  clear(t, 0, (uint64_t)t->size + t->max_displacement + 1);
  return true;
}

/* A finalizer. */
void pg_ctable_close(struct ctable *t)
{
  if (t->entries)
    munmap(t->entries, t->bytes);
  t->entries = NULL;
}

uint32_t pg_ctable_hash(const struct ctable *t, const void *key)
{
  return hash_of(t, key);
}

void *pg_ctable_lookup(const struct ctable *t, const void *key)
{
  return find(t, hash_of(t, key), key);
}

/* How far the entries from `entry` to the next gap would be displaced if all moved on
 * by one; and where the gap is. */
static uint64_t look_ahead(const struct ctable *t, uint8_t *entry, uint8_t **gap)
{
  uint64_t most = 0;
  uint64_t index = (uint64_t)(entry - t->entries) / t->entry_size;
  for (; hash_at(entry) != NO_HASH; entry += t->entry_size, index++) {
    uint64_t displacement = index + 1 - home(t, hash_at(entry));
    if (displacement > most)
      most = displacement;
  }
  *gap = entry;
  return most;
}

/* A place for an entry of this hash at `entry`, whose home is `index`. */
static bool make_room(struct ctable *t, uint8_t *entry, uint64_t index)
{
  uint8_t *gap;
  uint64_t most = look_ahead(t, entry, &gap);
  uint64_t own = (uint64_t)(entry - t->entries) / t->entry_size - index;
  if (own > most)
    most = own;
  if (most > t->displacement_limit)
    return false;
  memmove(entry + t->entry_size, entry, gap - entry);
  if (most > t->max_displacement) {
    uint64_t end = (uint64_t)t->size + t->max_displacement + 1;
    t->max_displacement = most;
    clear(t, end, (uint64_t)t->size + most + 1);
  }
  return true;
}

static inline void *put(struct ctable *t, uint8_t *entry, uint32_t hash,
                        const void *key)
{
  t->problem = CTABLE_NO_PROBLEM;
  t->occupancy++;
  set_hash(entry, hash);
  copy(entry + KEY_AT, key, t->key_size);
  return entry;
}

static void *insert(struct ctable *t, uint32_t hash, const void *key,
                    enum ctable_mode mode)
{
  uint64_t index = home(t, hash);
  uint8_t *entry = entry_at(t, index);
  if (hash_at(entry) == NO_HASH && mode != CTABLE_UPDATE)
    return put(t, entry, hash, key);
  while (hash_at(entry) < hash)
    entry += t->entry_size;
  for (; hash_at(entry) == hash; entry += t->entry_size)
    if (mode != CTABLE_ANEW && same_key(t, entry + KEY_AT, key)) {
      t->problem = mode == CTABLE_ADD ? CTABLE_PRESENT : CTABLE_NO_PROBLEM;
      return t->problem ? NULL : entry;
    }
  if (mode == CTABLE_UPDATE) {
    t->problem = CTABLE_ABSENT;
    return NULL;
  }
  if (!make_room(t, entry, index)) {
    t->problem = CTABLE_DISPLACED;
    return NULL;
  }
  return put(t, entry, hash, key);
}

/* The entry of the key, added if it isn't there, as `mode` allows. Its value is what it
 * was, or for a new one undefined. NULL if there is a problem, said in t->problem. */
void *pg_ctable_add(struct ctable *t, const void *key, enum ctable_mode mode)
{
  return insert(t, hash_of(t, key), key, mode);
}

/* Remove what is at `entry`; false if that is no entry of the table. */
bool pg_ctable_remove(struct ctable *t, void *entry)
{
  uint64_t offset = (uint64_t)((uint8_t *)entry - t->entries);
  uint64_t index = offset / t->entry_size;
  if (offset % t->entry_size || index >= (uint64_t)t->size + t->max_displacement ||
      hash_at(entry) == NO_HASH)
    return false;
  uint8_t *at = entry, *next = at + t->entry_size;
  while (hash_at(next) != NO_HASH && home(t, hash_at(next)) != ++index)
    next += t->entry_size;
  memmove(at, at + t->entry_size, next - at - t->entry_size);
  set_hash(next - t->entry_size, NO_HASH);
  t->occupancy--;
  return true;
}

/* The next place from `index` on that has an entry, or `end`. */
uint64_t pg_ctable_next(const struct ctable *t, uint64_t index, uint64_t end)
{
  while (index < end && hash_at(entry_at(t, index)) == NO_HASH)
    index++;
  return index;
}

/* Add all entries of `from` to `t`, which has none; false if there is a problem. */
bool pg_ctable_refill(struct ctable *t, const struct ctable *from)
{
  uint64_t end = (uint64_t)from->size + from->max_displacement;
  uint64_t index = pg_ctable_next(from, 0, end);
  while (index < end) {
    const uint8_t *entries[BLOCK];
    uint32_t hashes[BLOCK], n = 0;
    for (; n < BLOCK && index < end; index = pg_ctable_next(from, index + 1, end)) {
      entries[n] = entry_at(from, index);
      hashes[n] = hash_of(t, entries[n] + KEY_AT);
      prefetch(t, entry_at(t, home(t, hashes[n++])));
    }
    for (uint32_t i = 0; i < n; i++) {
      uint8_t *entry = insert(t, hashes[i], entries[i] + KEY_AT, CTABLE_ANEW);
      if (!entry)
        return false;
      memcpy(entry, entries[i], t->entry_size);
      set_hash(entry, hashes[i]);
    }
  }
  return true;
}

/* Let these bytes of n keys, `stride` bytes apart, be 0. */
void pg_ctable_blank(uint8_t *key, uint32_t n, uint32_t stride, const uint32_t *offsets,
                     uint32_t count)
{
  for (uint32_t i = 0; i < n; i++, key += stride)
    for (uint32_t k = 0; k < count; k++)
      key[offsets[k]] = 0;
}

/* Look up the keys in `entries`, an array of n entries, and give each the value and
 * hash of the one found, or NO_HASH. */
void pg_ctable_stream(const struct ctable *t, void *entries, uint32_t n)
{
  uint8_t *entry = entries;
  uint32_t rest = KEY_AT + t->key_size;
  for (uint32_t done = 0; done < n; done += BLOCK) {
    uint32_t hashes[BLOCK];
    uint32_t count = n - done < BLOCK ? n - done : BLOCK;
    approach(t, entry + KEY_AT, hashes, count);
    for (uint32_t i = 0; i < count; i++, entry += t->entry_size) {
      const uint8_t *found = find(t, hashes[i], entry + KEY_AT);
      set_hash(entry, found ? hashes[i] : NO_HASH);
      if (found)
        copy(entry + rest, found + rest, t->value_size);
    }
  }
}

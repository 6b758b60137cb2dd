/* SPDX-License-Identifier: Apache-2.0
 *
 * A table: records, an index of their keys (the first bytes of each), lists by timeout,
 * and a limit. What has several keys or indexes is made of the parts (Click's rewriters).
 */
#include <stdlib.h>

#include "find.h"

enum { SECOND_CHANCES = 32 }; /* for one eviction, which takes no longer */

/* The most memory, in bytes, of a table of up to `limit` records of `size` bytes. */
uint64_t pg_flow_table_bytes(uint32_t size, uint32_t limit)
{
  struct flow_table *t = pg_flow_table_new(size, 1, FLOW_NO_AGE, limit, FLOW_REFUSE, 1);
  if (!t)
    return 0;
  uint64_t bytes = sizeof *t + t->records.memory.reserved + t->records.bits.reserved
                   + t->index.memory.reserved + t->index.overflow.reserved;
  pg_flow_table_free(t);
  return bytes;
}

/* What of this is in use. */
uint64_t pg_flow_table_in_use(const struct flow_table *t)
{
  return sizeof *t + (uint64_t)t->records.top * t->records.size + t->records.top / 8
         + ((uint64_t)t->index.lines + t->index.more_top) * sizeof(struct flow_line);
}

/* A table of up to `limit` records (1 to FLOW_MOST) of `size` bytes (8 at least), whose
 * first `key_size` (1 to 64) are the key. `age_at`: where its struct flow_age is in a
 * record, or FLOW_NO_AGE. When it is full it refuses more, or evicts what would go first.
 * The hash is keyed with `seed`, or at random with 0. NULL: there is no memory. */
struct flow_table *pg_flow_table_new(uint32_t size, uint32_t key_size, uint32_t age_at,
                                     uint32_t limit, uint8_t policy, uint64_t seed)
{
  struct flow_table *t = calloc(1, sizeof *t);
  if (!t)
    return NULL;
  t->limit = limit;
  t->policy = policy;
  if (!pg_flow_records_open(&t->records, size, age_at, limit)) {
    free(t);
    return NULL;
  }
  if (!pg_flow_index_open(&t->index, &t->records, 0, key_size, 1, limit, seed)) {
    pg_flow_records_close(&t->records);
    free(t);
    return NULL;
  }
  return t;
}

void pg_flow_table_free(struct flow_table *t)
{
  if (!t)
    return;
  pg_flow_index_close(&t->index);
  pg_flow_records_close(&t->records);
  free(t);
}

/* Memory for n records now, in large pages where the kernel has some. It takes time. */
void pg_flow_table_reserve(struct flow_table *t, uint32_t n)
{
  uint32_t most = n < t->limit ? n : t->limit;
  pg_flow_memory_prepare(&t->records.memory, ((uint64_t)most + 1) * t->records.size);
  pg_flow_memory_prepare(&t->records.bits, most / 8 + 8);
  pg_flow_index_reserve(&t->index, most);
}

/* The number of the record with the key, or 0. */
uint32_t pg_flow_table_find(const struct flow_table *t, const void *key)
{
  return pg_flow_index_find(&t->index, key, pg_flow_index_hash(&t->index, key));
}

void pg_flow_table_find_many(const struct flow_table *t, const void *keys,
                             uint32_t stride, uint32_t n, uint32_t *numbers)
{
  pg_flow_index_find_many(&t->index, keys, stride, n, numbers);
}

/* The record has been used, as of `now`; it is in that list from then on. */
void pg_flow_table_touch(struct flow_table *t, uint32_t number, uint32_t list, int64_t now)
{
  if (t->lists)
    flow_touch(&t->records, t->list, number, list, now + t->list[list].timeout, now);
}

/* The record that would go first, or 0. */
uint32_t pg_flow_table_oldest(const struct flow_table *t)
{
  uint32_t best = 0;
  for (uint32_t i = 0; i < t->lists; i++) {
    uint32_t number = t->list[i].oldest;
    if (number && (!best || flow_age_of(&t->records, number)->expiry <
                              flow_age_of(&t->records, best)->expiry))
      best = number;
  }
  return best;
}

/* One whose time is over, or 0. */
uint32_t pg_flow_table_expired(const struct flow_table *t, int64_t now)
{
  uint32_t oldest = pg_flow_table_oldest(t);
  return oldest && flow_age_of(&t->records, oldest)->expiry <= now ? oldest : 0;
}

/* If the record that would go first was used since it came to its place in its list, and
 * its time isn't over, it goes to the end (a second chance, as pages have), so that a
 * flood of flows that are used once doesn't drive out those in use. Else the record. */
static uint32_t unused(struct flow_table *t, int64_t now)
{
  uint32_t oldest = pg_flow_table_oldest(t);
  struct flow_age *age = oldest ? flow_age_of(&t->records, oldest) : NULL;
  if (!age || age->expiry <= now || (uint32_t)age->expiry == age->queued)
    return oldest;
  pg_flow_unlink(&t->records, &t->list[age->list], oldest);
  pg_flow_link(&t->records, &t->list[age->list], oldest, age->expiry);
  return 0;
}

/* Ask for what the next eviction reads. */
static void prefetch_next(const struct flow_table *t)
{
  uint32_t oldest = pg_flow_table_oldest(t);
  if (!oldest)
    return;
  const uint8_t *key = flow_record(&t->records, oldest);
  __builtin_prefetch(flow_line_of(&t->index, pg_flow_index_hash(&t->index, key)), 1);
  flow_prefetch_record(&t->records, flow_age_of(&t->records, oldest)->newer);
}

/* The record that makes room for another where the table evicts, or 0: who wants to know
 * what goes takes it out before he adds to a full table. */
uint32_t pg_flow_table_victim(struct flow_table *t, int64_t now)
{
  uint32_t oldest = 0;
  if (t->policy != FLOW_EVICT)
    return 0;
  for (int i = 0; i < SECOND_CHANCES && !oldest; i++)
    oldest = unused(t, now);
  return oldest ? oldest : pg_flow_table_oldest(t);
}

static bool evict(struct flow_table *t, int64_t now)
{
  uint32_t victim = pg_flow_table_victim(t, now);
  if (!victim)
    return false;
  pg_flow_table_remove(t, victim);
  t->evicted++;
  prefetch_next(t);
  return true;
}

/* Of a table that is nearly full those in use are put behind in time: one for each that
 * comes. */
static void look_ahead(struct flow_table *t, int64_t now)
{
  if (t->policy == FLOW_EVICT && t->records.count >= t->limit - t->limit / 8)
    unused(t, now);
}

static uint32_t take(struct flow_table *t, int64_t now)
{
  look_ahead(t, now);
  if (t->records.count >= t->limit && !evict(t, now))
    return 0;
  if (!pg_flow_index_prepare(&t->index))
    return 0;
  uint32_t number = pg_flow_records_take(&t->records);
  if (!number && evict(t, now))
    number = pg_flow_records_take(&t->records);
  return number;
}

/* The record of the key, as used at `now`; a new one, with zeros behind the key, if there
 * was none (t->added). 0: there is no room for it. */
uint32_t pg_flow_table_add(struct flow_table *t, const void *key, uint32_t list,
                           int64_t now)
{
  uint32_t hash = pg_flow_index_hash(&t->index, key);
  uint32_t number = pg_flow_index_find(&t->index, key, hash);
  t->added = 0;
  if (number) {
    pg_flow_table_touch(t, number, list, now);
    return number;
  }
  number = take(t, now);
  if (!number) {
    t->refused++;
    return 0;
  }
  uint8_t *record = flow_record(&t->records, number);
  memcpy(record, key, t->index.key_size);
  memset(record + t->index.key_size, 0, t->records.size - t->index.key_size);
  pg_flow_index_put(&t->index, hash, number);
  if (t->lists) {
    struct flow_age *age = flow_age_of(&t->records, number);
    age->list = (uint8_t)list;
    memcpy(age->note, t->note, sizeof age->note);
    pg_flow_link(&t->records, &t->list[list], number, now + t->list[list].timeout);
  }
  pg_flow_records_complete(&t->records, number);
  t->added = 1;
  return number;
}

/* Take the record out. Its number may be another's from the next addition on. */
void pg_flow_table_remove(struct flow_table *t, uint32_t number)
{
  const uint8_t *key = flow_record(&t->records, number);
  pg_flow_index_take(&t->index, pg_flow_index_hash(&t->index, key), number);
  if (t->lists)
    pg_flow_unlink(&t->records, &t->list[flow_age_of(&t->records, number)->list], number);
  pg_flow_records_give(&t->records, number);
}

/* The first record behind that number (0: of all), or 0: to go through them while they
 * come and go. What is there all the while is met once. */
uint32_t pg_flow_table_next(const struct flow_table *t, uint32_t number)
{
  return pg_flow_records_next(&t->records, number);
}

/* Take all out. */
void pg_flow_table_clear(struct flow_table *t)
{
  if (t->index.former)
    t->index.former->forget = true;
  for (uint32_t i = 0; (i = pg_flow_table_next(t, i));)
    pg_flow_table_remove(t, i);
}

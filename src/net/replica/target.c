/* SPDX-License-Identifier: Apache-2.0
 *
 * A file of kept records that is written as another host says. No byte of what it says
 * is believed: numbers are within the file's bounds, and what they stand for is checked
 * record by record by the process that goes on with them. A record is in use by one
 * store behind all others, as in a file that a process keeps itself.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "../flow/find.h"
#include "../flow/hints.h"
#include "replica.h"

enum { BITS = 64, HINT_BYTES = 32 /* of a key, at most */ };
static const int64_t FARTHEST = INT64_MAX / 4; /* of an expiry, in any unit */

static void in_this_order(void) { __asm__ volatile("" ::: "memory"); }

__attribute__((format(printf, 2, 3)))
static bool refuse(struct replica_target *t, const char *format, ...)
{
  va_list values;
  va_start(values, format);
  vsnprintf(t->problem, sizeof t->problem, format, values);
  va_end(values);
  return false;
}

/* A new, empty file at `fd` for records of that kind; of `h` boot, release, of, layout
 * and the ages' unit are filled in, and of `t` the limit. False, with errno. */
bool pg_replica_target_open(struct replica_target *t, int fd, struct keep_header *h,
                            uint32_t size, uint32_t age_at, uint64_t most,
                            const char *notes, uint64_t notes_size)
{
  errno = ENOMEM;
  if (!pg_flow_records_open(&t->records, size, age_at, (uint32_t)most))
    return false;
  t->open = pg_keep_begin(fd, h, &t->records, notes, notes_size);
  int error = errno;
  if (!t->open)
    pg_flow_records_close(&t->records);
  errno = error;
  return t->open;
}

/* Hints about the file with that inode, in the empty file `fd`. False, with errno. */
bool pg_replica_target_hints(struct replica_target *t, int fd, uint64_t inode,
                             struct replica_keys keys)
{
  struct flow_index x = {.records = &t->records, .key_at = keys.at,
                         .key_size = keys.size, .key_shift = keys.n - 1};
  if (getrandom(x.secret, sizeof x.secret, 0) != (ssize_t)sizeof x.secret)
    return false;
  t->hints = pg_flow_hints_new(fd, inode, &x);
  t->keys = keys;
  return t->hints != NULL;
}

static uint64_t bytes_up_to(const struct replica_target *t, uint64_t top)
{
  return top * (t->records.size + (t->hints ? HINT_BYTES * t->keys.n : 0));
}

/* What the limit is of. */
uint64_t pg_replica_target_bytes(const struct replica_target *t)
{
  return bytes_up_to(t, t->records.top);
}

void pg_replica_target_close(struct replica_target *t)
{
  if (t->hints)
    pg_flow_hints_free(t->hints);
  t->hints = NULL;
  if (t->open)
    pg_flow_records_close(&t->records);
  t->open = false;
}

static bool is_in_use(const struct flow_records *r, uint32_t number)
{
  return number < r->top && r->in_use[number / BITS] >> number % BITS & 1;
}

/* There is memory for the number. */
static bool reach(struct replica_target *t, uint32_t number)
{
  struct flow_records *r = &t->records;
  if (bytes_up_to(t, (uint64_t)number + 1) > t->limit)
    return refuse(t, "needs more than %llu bytes: its record %u is beyond",
                  (unsigned long long)t->limit, number);
  while (r->top <= number)
    if (!pg_flow_records_take(r))
      return refuse(t, "needs more room than there is: %s", strerror(errno));
  return true;
}

static bool is_far(int64_t expiry) { return expiry > FARTHEST || expiry < -FARTHEST; }

static void release(struct flow_records *r, uint32_t number)
{
  r->in_use[number / BITS] &= ~((uint64_t)1 << number % BITS);
  in_this_order();
}

/* The record's keys aren't there any more. */
static void take_hints(struct replica_target *t, uint32_t number)
{
  for (uint32_t i = 0; t->hints && i < t->keys.n; i++)
    pg_flow_hints_take(t->hints, number * t->keys.n + i);
}

static void put_hints(struct replica_target *t, uint32_t number, const uint8_t *record)
{
  for (uint32_t i = 0; t->hints && i < t->keys.n; i++) {
    const uint8_t *key = record + t->keys.at + i * t->keys.size;
    uint32_t hash = flow_hash_of(t->hints->header->secret, key, t->keys.size);
    pg_flow_hints_put(t->hints, hash, number * t->keys.n + i);
  }
}

static bool same_keys(const struct replica_target *t, const uint8_t *a, const uint8_t *b)
{
  return !t->hints || !memcmp(a + t->keys.at, b + t->keys.at,
                              (size_t)t->keys.n * t->keys.size);
}

static bool apply_record(struct replica_target *t, uint32_t number, const uint8_t *from,
                         int64_t shift)
{
  struct flow_records *r = &t->records;
  int64_t expiry = pg_keep_expiry(from, r->age_at);
  if (is_far(expiry))
    return refuse(t, "has a record %u that ends at %lld", number, (long long)expiry);
  if (!reach(t, number))
    return false;
  bool was_there = is_in_use(r, number);
  if (was_there)
    release(r, number);
  else
    t->there++;
  if (!was_there || !same_keys(t, flow_record(r, number), from)) {
    if (was_there)
      take_hints(t, number);
    put_hints(t, number, from);
  }
  memcpy(flow_record(r, number), from, r->size);
  if (r->age_at != FLOW_NO_AGE)
    flow_age_of(r, number)->expiry = expiry + shift;
  pg_flow_records_complete(r, number);
  return true;
}

static bool apply_age(struct replica_target *t, uint32_t number, int64_t expiry,
                      int64_t shift)
{
  if (t->records.age_at == FLOW_NO_AGE || !is_in_use(&t->records, number))
    return refuse(t, "has an age for the record %u, which has none", number);
  if (is_far(expiry))
    return refuse(t, "has a record %u that ends at %lld", number, (long long)expiry);
  flow_age_of(&t->records, number)->expiry = expiry + shift;
  return true;
}

/* One entry; how many bytes it has, or 0 and t->problem. */
static uint64_t apply_one(struct replica_target *t, const uint8_t *entry, uint64_t bytes,
                          int64_t shift)
{
  static const uint32_t NUMBER_BITS = ((uint32_t)1 << REPLICA_KIND) - 1;
  struct flow_records *r = &t->records;
  uint32_t word;
  int64_t expiry;
  if (bytes < sizeof word)
    return refuse(t, "ends within an entry");
  memcpy(&word, entry, sizeof word);
  uint32_t number = word & NUMBER_BITS, kind = word >> REPLICA_KIND;
  if (number == 0 || number > r->most)
    return refuse(t, "has a record %u, and there may be %u", number, r->most);
  uint64_t size = sizeof word + (kind == REPLICA_RECORD ? r->size
                                 : kind == REPLICA_AGE ? sizeof expiry : 0);
  if (bytes < size)
    return refuse(t, "ends within an entry");
  switch (kind) {
  case REPLICA_RECORD:
    return apply_record(t, number, entry + sizeof word, shift) ? size : 0;
  case REPLICA_AGE:
    memcpy(&expiry, entry + sizeof word, sizeof expiry);
    return apply_age(t, number, expiry, shift) ? size : 0;
  case REPLICA_REMOVED:
    if (!is_in_use(r, number))
      return refuse(t, "removes the record %u, which isn't there", number);
    release(r, number);
    take_hints(t, number);
    t->there--;
    return size;
  default:
    return refuse(t, "has an entry of kind %u", kind);
  }
}

/* Entries of a batch, whose expiries are later here by `shift`. False: t->problem says
 * what they say that can't be; those before it have been applied. */
bool pg_replica_apply(struct replica_target *t, const uint8_t *entries, uint64_t bytes,
                      int64_t shift)
{
  for (uint64_t at = 0, n; at < bytes; at += n) {
    n = apply_one(t, entries + at, bytes - at, shift);
    if (n == 0)
      return false;
    t->applied++;
  }
  return true;
}

/* What of this host goes ------------------------------------------------------------- */

/* FNV-1a, 64 bits, of a record but for its age and place in a list. */
static uint64_t sum_of(const uint8_t *record, uint32_t size, uint32_t age_at)
{
  uint64_t sum = 0xcbf29ce484222325;
  for (uint32_t i = 0; i < size; i++)
    if (age_at == FLOW_NO_AGE || i < age_at || i >= age_at + sizeof(struct flow_age))
      sum = (sum ^ record[i]) * 0x100000001b3;
  return sum;
}

static int compare(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static uint32_t sums_of(const struct flow_records *r, uint64_t *sums)
{
  uint32_t n = 0;
  for (uint32_t i = pg_flow_records_next(r, 0); i; i = pg_flow_records_next(r, i))
    sums[n++] = sum_of(flow_record(r, i), r->size, r->age_at);
  return n;
}

/* What tells the records that were here from others, a number for each, into `sums`. */
void pg_replica_sums(const struct keep_records *before, uint32_t age_at, uint64_t *sums)
{
  for (uint32_t i = 0; i < before->n; i++)
    sums[i] = sum_of(before->record + (size_t)i * before->size, before->size, age_at);
}

/* Of how many of these `n` records none of the other host's is the same, which are in
 * `files` files: they are gone, or have another state. All, if there is no memory to
 * compare. */
uint32_t pg_replica_without(const uint64_t *before, uint32_t n,
                            const struct replica_target *const *targets, uint32_t files)
{
  size_t most = 1, there = 0;
  uint32_t gone = 0;
  for (uint32_t i = 0; i < files; i++)
    most += targets[i]->records.top;
  uint64_t *sums = malloc(most * sizeof *sums);
  if (!sums)
    return n;
  for (uint32_t i = 0; i < files; i++)
    there += sums_of(&targets[i]->records, sums + there);
  qsort(sums, there, sizeof *sums, compare);
  for (uint32_t i = 0; i < n; i++)
    gone += !bsearch(&before[i], sums, there, sizeof *sums, compare);
  free(sums);
  return gone;
}

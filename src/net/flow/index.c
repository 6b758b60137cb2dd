/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers by key: linear hashing (Litwin, 1980) over cache lines. When there are four
 * entries a line it grows to twice as many lines, two for each entry that comes: the
 * entries of one line are divided between it and a new one at the end. No look-up asks at
 * two slots meanwhile. Few lines are full, and go on in another one.
 */
#include <sys/random.h>

#include "../../native/random.h"
#include "find.h"
#include "hints.h"

enum {
  PER_LINE = 4,      /* entries, at which it grows */
  LINES_AT_ONCE = 2, /* that are divided for each entry */
  FEWEST_LINES = 16
};

static struct flow_line *more_of(const struct flow_index *x, const struct flow_line *line)
{
  return &x->more[line->number[FLOW_PLACES]];
}

static void fill_secret(struct flow_index *x, uint64_t seed)
{
  if (!seed && getrandom(x->secret, sizeof x->secret, 0) == (ssize_t)sizeof x->secret)
    return;
  for (int i = 0; i < 17; i++)
    x->secret[i] = pg_random(&seed);
}

/* Lines that go on: no more than a tenth of four entries a line need one. */
static uint64_t overflow_lines(uint64_t lines) { return lines / 4 + 64; }

static uint32_t lines_for(uint32_t entries)
{
  uint32_t lines = FEWEST_LINES;
  while ((uint64_t)lines * PER_LINE < entries)
    lines *= 2;
  return lines;
}

/* An index of `records`, each of which has `keys` (1 or 2) keys of `key_size` bytes (1 to
 * 64) at `key_at`; for up to `most` entries. The secret is random if `seed` is 0. False
 * if there is no memory. */
bool pg_flow_index_open(struct flow_index *x, struct flow_records *records,
                        uint32_t key_at, uint32_t key_size, uint32_t keys,
                        uint32_t most, uint64_t seed)
{
  *x = (struct flow_index){.records = records, .key_at = key_at, .key_size = key_size,
                           .key_shift = keys - 1, .lines = FEWEST_LINES,
                           .mask = FEWEST_LINES - 1, .more_top = 1};
  fill_secret(x, seed);
  x->most_lines = lines_for(most);
  const uint64_t line = sizeof(struct flow_line);
  if (!pg_flow_memory_reserve(&x->memory, x->most_lines * line) ||
      !pg_flow_memory_reserve(&x->overflow, overflow_lines(x->most_lines) * line) ||
      !pg_flow_memory_extend(&x->memory, FEWEST_LINES * line)) {
    pg_flow_index_close(x);
    return false;
  }
  x->line = (struct flow_line *)x->memory.at;
  x->more = (struct flow_line *)x->overflow.at;
  return true;
}

void pg_flow_index_close(struct flow_index *x)
{
  pg_flow_hints_leave(x);
  pg_flow_memory_free(&x->memory);
  pg_flow_memory_free(&x->overflow);
}

/* Lines that go on ------------------------------------------------------------------- */

static bool has_more(struct flow_index *x)
{
  return x->more_spare ||
         pg_flow_memory_extend(&x->overflow,
                               ((uint64_t)x->more_top + 1) * sizeof *x->more);
}

static uint32_t take_more(struct flow_index *x)
{
  uint32_t number = x->more_spare;
  if (!number)
    return x->more_top++;
  x->more_spare = x->more[number].number[0];
  memset(&x->more[number], 0, sizeof *x->more);
  return number;
}

static void give_more(struct flow_index *x, uint32_t number)
{
  memset(&x->more[number], 0, sizeof *x->more);
  x->more[number].number[0] = x->more_spare;
  x->more_spare = number;
}

/* Entries ---------------------------------------------------------------------------- */

static uint32_t empty_places(const struct flow_line *line)
{
  return flow_matches(line, 0) & ((1 << FLOW_PLACES) - 1);
}

/* Into a line; has_more() has been asked. Only the last of lines that go on has empty
 * places. */
static void put(struct flow_index *x, struct flow_line *line, uint32_t hash,
                uint32_t number)
{
  uint32_t empty;
  while (line->number[FLOW_PLACES])
    line = more_of(x, line);
  if (!(empty = empty_places(line))) {
    line->number[FLOW_PLACES] = take_more(x);
    line = more_of(x, line);
    empty = (1 << FLOW_PLACES) - 1;
  }
  uint32_t home = flow_home(hash);
  uint32_t place = empty >> home & 1 ? home : (uint32_t)__builtin_ctz(empty);
  line->hash[place] = hash;
  line->number[place] = number;
}

/* The entries of the next line are divided between it and a new one. Those of a line that
 * goes on never need more lines than become free before. */
static bool divide(struct flow_index *x)
{
  if (x->lines == x->most_lines ||
      !pg_flow_memory_extend(&x->memory, ((uint64_t)x->lines + 1) * sizeof *x->line))
    return false;
  struct flow_line *from = &x->line[x->lines - x->mask - 1], entries = *from;
  memset(from, 0, sizeof *from);
  x->lines++;
  for (;;) {
    uint32_t next = entries.number[FLOW_PLACES];
    for (int i = 0; i < FLOW_PLACES; i++)
      if (entries.hash[i])
        put(x, flow_line_of(x, entries.hash[i]), entries.hash[i], entries.number[i]);
    if (!next)
      break;
    entries = x->more[next];
    give_more(x, next);
  }
  if (x->lines == 2 * x->mask + 2)
    x->mask = 2 * x->mask + 1;
  return true;
}

/* Before an entry is put: is there room? */
bool pg_flow_index_prepare(struct flow_index *x)
{
  bool between = x->lines > x->mask + 1;
  if (between || x->entries >= (uint64_t)PER_LINE * x->lines)
    for (int i = 0; i < LINES_AT_ONCE && divide(x); i++)
      if (x->lines == x->mask + 1)
        break;
  return has_more(x);
}

/* So many entries won't make it grow, and find their pages. That takes its time. */
void pg_flow_index_reserve(struct flow_index *x, uint32_t entries)
{
  uint32_t lines = lines_for(entries);
  if (lines > x->most_lines)
    lines = x->most_lines;
  pg_flow_memory_prepare(&x->memory, (uint64_t)lines * sizeof *x->line);
  pg_flow_memory_prepare(&x->overflow, overflow_lines(lines) * sizeof *x->line);
  while (x->lines < lines && divide(x))
    ;
}

#define HASH(x, key, size) flow_hash_of((x)->secret, key, size)

uint32_t pg_flow_index_hash(const struct flow_index *x, const void *key)
{
  return FLOW_BY_SIZE(x->key_size, HASH, x, key);
}

/* The number of the key with that hash, or 0. */
uint32_t pg_flow_index_find(const struct flow_index *x, const void *key, uint32_t hash)
{
  return FLOW_BY_SIZE(x->key_size, flow_find, x, key, hash);
}

/* The number of a key that wasn't found: it may have come to another line meanwhile, when
 * one was recalled; or it is recalled itself. */
uint32_t pg_flow_index_recall(const struct flow_index *x, const void *key)
{
  struct flow_index *own = (struct flow_index *)x; /* its user may write */
  struct flow_former *former = x->former;
  own->former = NULL;
  uint32_t number = pg_flow_index_find(x, key, pg_flow_index_hash(x, key));
  own->former = former;
  if (number || former->forget)
    return number;
  return former->recall(former, own, key);
}

/* A number with a hash; pg_flow_index_prepare() has said that there is room. */
void pg_flow_index_put(struct flow_index *x, uint32_t hash, uint32_t number)
{
  put(x, flow_line_of(x, hash), hash, number);
  x->entries++;
  if (x->hints)
    pg_flow_hints_put(x->hints, hash, number);
}

/* Take it out again; false if it isn't there. One of the last line comes to its place. */
bool pg_flow_index_take(struct flow_index *x, uint32_t hash, uint32_t number)
{
  struct flow_line *line = flow_line_of(x, hash), *hole = NULL, *before = NULL;
  int place = 0;
  for (;;) {
    for (uint32_t m = hole ? 0 : flow_matches(line, hash); m && !hole; m &= m - 1) {
      place = __builtin_ctz(m);
      hole = line->number[place] == number ? line : NULL;
    }
    if (!line->number[FLOW_PLACES])
      break;
    before = line;
    line = more_of(x, line);
  }
  if (!hole)
    return false;
  uint32_t full = ~empty_places(line) & ((1 << FLOW_PLACES) - 1);
  int other = hole == line ? place : __builtin_ctz(full);
  hole->hash[place] = line->hash[other];
  hole->number[place] = line->number[other];
  line->hash[other] = line->number[other] = 0;
  if (before && !(full & ~(1u << other))) {
    give_more(x, before->number[FLOW_PLACES]);
    before->number[FLOW_PLACES] = 0;
  }
  x->entries--;
  if (x->hints)
    pg_flow_hints_take(x->hints, number);
  return true;
}

FLOW_INLINE void find_many(const struct flow_index *x, const uint8_t *keys,
                           uint32_t stride, uint32_t n, uint32_t *numbers, uint32_t size)
{
  uint32_t hash[FLOW_AT_ONCE];
  for (; n > 0; keys += (uint64_t)FLOW_AT_ONCE * stride, numbers += FLOW_AT_ONCE) {
    uint32_t some = n < FLOW_AT_ONCE ? n : FLOW_AT_ONCE;
    for (uint32_t i = 0; i < some; i++)
      hash[i] = flow_hash_of(x->secret, keys + (uint64_t)i * stride, size);
    flow_find_burst(x, keys, stride, hash, some, numbers, size);
    n -= some;
  }
}

/* The numbers of n keys, `stride` bytes apart; 0: there is none. */
void pg_flow_index_find_many(const struct flow_index *x, const void *keys,
                             uint32_t stride, uint32_t n, uint32_t *numbers)
{
  FLOW_BY_SIZE(x->key_size, find_many, x, keys, stride, n, numbers);
}

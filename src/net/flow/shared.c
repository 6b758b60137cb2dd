/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables that threads share (shared.h): a key's hash says in which of some tables it is,
 * each of which has a lock. Who holds a record has no lock, so a thread may hold several.
 * A record that is taken out while somebody holds it or waits for it is found no more,
 * and given back by the last of them.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "../../native/spin.h"
#include "find.h"
#include "shared.h"

enum {
  PARTS = 16,
  RECORDS = 1 << 22,         /* of a part, at most: lines by bits 0 to 19 of hashes, */
  PART_BIT = 20              /* and parts by these */
};

/* Between a record's key and its value. */
struct state {
  uint32_t waiting;          /* threads that want to hold it */
  bool held, gone;           /* gone: out of the index */
};

struct part {
  int32_t lock;
  struct flow_table *table;
} __attribute__((aligned(64)));

struct flow_shared {
  struct part parts[PARTS];
  uint32_t state_at, value_at;
};

/* A table for keys (1 to 64 bytes) and values of these sizes; values begin at a multiple
 * of 8 bytes. NULL: no memory. */
struct flow_shared *pg_flow_shared_new(uint32_t key_size, uint32_t value_size)
{
  struct flow_shared *s = aligned_alloc(64, sizeof *s);
  uint64_t seed = 0; /* the same for all: a key is hashed once */
  if (!s)
    return NULL;
  memset(s, 0, sizeof *s);
  s->state_at = (key_size + 7) / 8 * 8;
  s->value_at = s->state_at + sizeof(struct state);
  uint32_t size = s->value_at + (value_size + 7) / 8 * 8;
  while (seed == 0)
    if (getrandom(&seed, sizeof seed, 0) < 0)
      seed = (uintptr_t)s;
  for (int i = 0; i < PARTS; i++) {
    s->parts[i].table = pg_flow_table_new(size, key_size, FLOW_NO_AGE, RECORDS,
                                          FLOW_REFUSE, seed);
    if (!s->parts[i].table) {
      pg_flow_shared_free(s);
      return NULL;
    }
  }
  return s;
}

/* Nobody may use it any more. */
void pg_flow_shared_free(struct flow_shared *s)
{
  for (int i = 0; i < PARTS; i++)
    pg_flow_table_free(s->parts[i].table);
  free(s);
}

static struct state *state_of(const struct flow_shared *s, const struct flow_table *t,
                              uint32_t number)
{
  return (struct state *)(flow_record(&t->records, number) + s->state_at);
}

static void give_if_last(struct flow_table *t, const struct state *state, uint32_t number)
{
  if (state->gone && !state->held && state->waiting == 0)
    pg_flow_records_give(&t->records, number);
}

static void take_out(struct flow_table *t, struct state *state, uint32_t number)
{
  const uint8_t *key = flow_record(&t->records, number);
  pg_flow_index_take(&t->index, pg_flow_index_hash(&t->index, key), number);
  state->gone = true;
  give_if_last(t, state, number);
}

/* Wait until nobody holds it, or it is gone. */
static void wait_for(struct part *part, struct state *state, uint32_t number)
{
  state->waiting++;
  while (state->held && !state->gone) {
    pg_spin_unlock(&part->lock);
    sched_yield();
    pg_spin_lock(&part->lock);
  }
  state->waiting--;
  give_if_last(part->table, state, number);
}

/* Hold the key's record, after letting go of what `h` held. With `may_add`, one whose value
 * is zeros is made if there is none. An enum flow_held. */
int32_t pg_flow_shared_hold(struct flow_shared *s, struct flow_hold *h, const void *key,
                            bool may_add)
{
  uint32_t hash = pg_flow_index_hash(&s->parts[0].table->index, key), number;
  uint32_t at = hash >> PART_BIT & (PARTS - 1);
  struct part *part = &s->parts[at];
  struct flow_table *t = part->table;
  int32_t result = FLOW_FOUND;
  pg_flow_shared_release(h);
  pg_spin_lock(&part->lock);
  while ((number = pg_flow_index_find(&t->index, key, hash)) &&
         state_of(s, t, number)->held)
    wait_for(part, state_of(s, t, number), number);
  if (!number) {
    number = may_add ? pg_flow_table_add(t, key, 0, 0) : 0;
    result = number ? FLOW_ADDED : may_add ? FLOW_NO_ROOM : FLOW_NONE;
  }
  if (number)
    state_of(s, t, number)->held = true;
  pg_spin_unlock(&part->lock);
  *h = (struct flow_hold){s, at, number};
  return result;
}

void pg_flow_shared_release(struct flow_hold *h)
{
  uint32_t number = h->number;
  if (!number)
    return;
  struct part *part = &h->table->parts[h->part];
  struct state *state = state_of(h->table, part->table, number);
  h->number = 0;
  pg_spin_lock(&part->lock);
  state->held = false;
  give_if_last(part->table, state, number);
  pg_spin_unlock(&part->lock);
}

/* The value that is held; NULL if none is. */
uint8_t *pg_flow_shared_value(const struct flow_hold *h)
{
  if (!h->number)
    return NULL;
  const struct flow_table *t = h->table->parts[h->part].table;
  return flow_record(&t->records, h->number) + h->table->value_at;
}

/* Remove what is held. False if nothing of this table is, or if it is gone already. */
bool pg_flow_shared_erase(struct flow_shared *s, struct flow_hold *h)
{
  if (!h->number || h->table != s)
    return false;
  struct part *part = &s->parts[h->part];
  struct state *state = state_of(s, part->table, h->number);
  pg_spin_lock(&part->lock);
  bool was_there = !state->gone;
  if (was_there)
    take_out(part->table, state, h->number);
  pg_spin_unlock(&part->lock);
  pg_flow_shared_release(h);
  return was_there;
}

static uint32_t remove_from(struct flow_shared *s, struct part *part, uint64_t threshold,
                            bool all)
{
  struct flow_table *t = part->table;
  uint32_t n = 0;
  pg_spin_lock(&part->lock);
  for (uint32_t i = 0; (i = pg_flow_table_next(t, i));) {
    struct state *state = state_of(s, t, i);
    uint64_t first;
    memcpy(&first, (uint8_t *)state + sizeof *state, sizeof first);
    if (!state->gone && (all || (!state->held && first < threshold))) {
      take_out(t, state, i);
      n++;
    }
  }
  pg_spin_unlock(&part->lock);
  return n;
}

/* Remove all that nobody holds and whose value begins with a number (uint64_t) below the
 * threshold: how many. */
uint32_t pg_flow_shared_clean(struct flow_shared *s, uint64_t threshold)
{
  uint32_t n = 0;
  for (int i = 0; i < PARTS; i++)
    n += remove_from(s, &s->parts[i], threshold, false);
  return n;
}

/* Remove all. What is held stays its holder's until it is let go. */
void pg_flow_shared_clear(struct flow_shared *s)
{
  for (int i = 0; i < PARTS; i++)
    remove_from(s, &s->parts[i], 0, true);
}

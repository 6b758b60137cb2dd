/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>

#include "../../src/net/flow/find.h"
#include "flow_pools.h"

enum { MOST_RANGES = 64, MOST_POOLS = 1 << 20 };

/* A range in which somebody searches. Patterns have few. */
struct range { uint32_t base, top, port, pools; };

struct click_flow_pools {
  struct flow_table *table;    /* of struct click_pool */
  uint32_t ranges, searching;  /* searching: the pool that may not go now, or 0 */
  struct range range[MOST_RANGES];
};

/* The replies that differ from this one in their port (of pings also in the one that
 * follows it), or address, alone. */
struct click_pool_key pg_flow_pool_key(const struct click_flow_kind *k,
                                       const struct click_flow_key *reply, bool port,
                                       uint32_t base, uint32_t top)
{
  struct click_pool_key key = {*reply, base, top, port};
  if (!port)
    key.group.destination = 0;
  else if (k->how == REWRITE_PING)
    key.group.sport = key.group.dport = 0;
  else
    key.group.dport = 0;
  return key;
}

static struct click_pool *pool_of(const struct click_flow_pools *pools, uint32_t number)
{
  return number ? (struct click_pool *)flow_record(&pools->table->records, number) : NULL;
}

/* What is known of a search, which begins; or NULL. It stays till pg_flow_pool_done(). */
struct click_pool *pg_flow_pool_find(const struct click_flow_kind *k,
                                     const struct click_pool_key *key)
{
  if (!k->pools)
    return NULL;
  k->pools->searching = pg_flow_table_find(k->pools->table, key);
  return pool_of(k->pools, k->pools->searching);
}

static struct click_flow_pools *new_pools(void)
{
  struct click_flow_pools *pools = calloc(1, sizeof *pools);
  if (!pools)
    return NULL;
  pools->table = pg_flow_table_new(sizeof(struct click_pool),
                                   sizeof(struct click_pool_key), FLOW_NO_AGE, MOST_POOLS,
                                   FLOW_REFUSE, 0);
  if (pools->table)
    return pools;
  free(pools);
  return NULL;
}

/* That range, or a new one; NULL if there are too many. */
static struct range *range_of(struct click_flow_pools *pools,
                              const struct click_pool_key *key)
{
  struct range *unused = NULL;
  for (uint32_t i = 0; i < pools->ranges; i++) {
    struct range *r = &pools->range[i];
    if (r->base == key->base && r->top == key->top && r->port == key->port)
      return r;
    if (!r->pools)
      unused = r;
  }
  if (!unused && pools->ranges < MOST_RANGES)
    unused = &pools->range[pools->ranges++];
  if (unused)
    *unused = (struct range){key->base, key->top, key->port, 0};
  return unused;
}

/* A pool of which nothing is known; NULL if there is no room for it. */
struct click_pool *pg_flow_pool_new(struct click_flow_kind *k,
                                    const struct click_pool_key *key)
{
  if (key->top >= FLOW_NUMBERS_MOST)
    return NULL;
  if (!k->pools)
    k->pools = new_pools();
  struct click_flow_pools *pools = k->pools;
  struct range *range = pools ? range_of(pools, key) : NULL;
  struct flow_numbers *marked = range ? pg_flow_numbers_new(key->top + 1) : NULL;
  uint32_t number = marked ? pg_flow_table_add(pools->table, key, 0, 0) : 0;
  if (!number) {
    pg_flow_numbers_free(marked);
    return NULL;
  }
  range->pools++;
  pools->searching = number;
  struct click_pool *pool = pool_of(pools, number);
  pool->used = pool->peak = 0;
  pool->marked = marked;
  return pool;
}

/* Of this number it is known that no other flow can have it; `used`: as a flow has it. */
void pg_flow_pool_mark(struct click_pool *pool, uint32_t number, bool used)
{
  if (!pg_flow_numbers_mark(pool->marked, number) || !used)
    return;
  if (++pool->used > pool->peak)
    pool->peak = pool->used;
}

/* The first number that isn't marked from that on, and behind the last from 0 on; -1: all
 * are. */
int64_t pg_flow_pool_next(const struct click_pool *pool, uint32_t from)
{
  int64_t next = pg_flow_numbers_next(pool->marked, from);
  return next >= 0 ? next : pg_flow_numbers_next(pool->marked, 0);
}

/* The search is over. */
void pg_flow_pool_done(struct click_flow_kind *k)
{
  if (k->pools)
    k->pools->searching = 0;
}

/* A pool goes when half of its flows have gone: to learn it again costs less than what
 * they did. */
static void unmark(struct click_flow_pools *pools, struct range *range, uint32_t number,
                   uint32_t value)
{
  struct click_pool *pool = pool_of(pools, number);
  if (!pg_flow_numbers_unmark(pool->marked, value))
    return;
  if (--pool->used > pool->peak / 2 || number == pools->searching)
    return;
  pg_flow_numbers_free(pool->marked);
  pg_flow_table_remove(pools->table, number);
  range->pools--;
}

/* Mark or unmark the reply in all pools of its kind that have it. */
static void change(struct click_flow_kind *k, const struct click_flow_key *reply, bool mark)
{
  struct click_flow_pools *pools = k->pools;
  for (uint32_t i = 0; i < pools->ranges; i++) {
    struct range *r = &pools->range[i];
    uint32_t value = (r->port ? rte_be_to_cpu_16(reply->dport)
                              : rte_be_to_cpu_32(reply->destination)) - r->base;
    if (!r->pools || value > r->top)
      continue;
    struct click_pool_key key = pg_flow_pool_key(k, reply, r->port, r->base, r->top);
    uint32_t number = pg_flow_table_find(pools->table, &key);
    if (number && mark)
      pg_flow_pool_mark(pool_of(pools, number), value, true);
    else if (number)
      unmark(pools, r, number, value);
  }
}

/* A flow with that reply has come, */
void pg_flow_pools_mark(struct click_flow_kind *k, const struct click_flow_key *reply)
{
  if (k->pools)
    change(k, reply, true);
}

/* or has gone. */
void pg_flow_pools_unmark(struct click_flow_kind *k, const struct click_flow_key *reply)
{
  if (k->pools)
    change(k, reply, false);
}

void pg_flow_pools_free(struct click_flow_pools *pools)
{
  if (!pools)
    return;
  struct flow_table *t = pools->table;
  for (uint32_t i = pg_flow_table_next(t, 0); i; i = pg_flow_table_next(t, i))
    pg_flow_numbers_free(pool_of(pools, i)->marked);
  pg_flow_table_free(t);
  free(pools);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Flows by their keys, of which each has two, and each kind of flows an index: see
 * src/net/flow. And changes of sequence numbers, for those flows that have some.
 */
#include <stdlib.h>

#include "../../src/native/kernels.h"
#include "flow_pools.h"
#include "flow_table.h"

enum { FEW_FLOWS = 1 << 16 };

/* Keys ----------------------------------------------------------------------------- */

/* Room for two entries more. */
bool pg_flow_table_prepare(struct click_flow_kind *k)
{
  return pg_flow_index_prepare(&k->index) && pg_flow_index_prepare(&k->index);
}

uint32_t pg_flows_find(const struct click_flows *t, int32_t kind,
                       const struct click_flow_key *key)
{
  return flow_number(&t->kind[kind], flow_words(key));
}

uint32_t pg_flow_table_map(struct click_flows *t, struct click_flow_kind *k,
                           uint32_t number)
{
  struct flow_words key = flow_words(&t->flow[number / 2].key[number % 2]);
  uint32_t hash = flow_hash(k, key);
  uint32_t old = flow_find(&k->index, &key, hash, FLOW_KEY);
  if (old)
    pg_flow_index_take(&k->index, hash, old);
  pg_flow_index_put(&k->index, hash, number);
  if (number % 2)
    pg_flow_pools_mark(k, &t->flow[number / 2].key[1]);
  return old;
}

void pg_flow_table_unmap(struct click_flows *t, struct click_flow_kind *k,
                         uint32_t number)
{
  struct flow_words key = flow_words(&t->flow[number / 2].key[number % 2]);
  if (pg_flow_index_take(&k->index, flow_hash(k, key), number) && number % 2)
    pg_flow_pools_unmark(k, &t->flow[number / 2].key[1]);
}

/* Flows ---------------------------------------------------------------------------- */

/* Each flow may have changes of sequence numbers from now on. */
bool pg_flow_deltas_begin(struct click_flows *t)
{
  const uint64_t size = sizeof *t->deltas;
  if (t->deltas)
    return true;
  if (!t->delta_memory.at &&
      !pg_flow_memory_reserve(&t->delta_memory, ((uint64_t)t->records.most + 1) * size))
    return false;
  if (!pg_flow_memory_extend(&t->delta_memory, t->records.top * size))
    return false;
  t->deltas = (struct click_deltas **)t->delta_memory.at;
  return true;
}

uint32_t pg_flow_table_take(struct click_flows *t)
{
  if (t->deltas && !pg_flow_memory_extend(&t->delta_memory,
                                          ((uint64_t)t->records.top + 1)
                                            * sizeof *t->deltas))
    return 0;
  return pg_flow_records_take(&t->records);
}

void pg_flow_table_give(struct click_flows *t, uint32_t flow)
{
  if (t->deltas) {
    free(t->deltas[flow]);
    t->deltas[flow] = NULL;
  }
  t->flow[flow].kind = NO_FLOW;
  pg_flow_records_give(&t->records, flow);
}

/* The key of replies with that port; of pings (rewrite_key.h) the other port follows it. */
static void set_port(struct click_flow_key *key, uint16_t port, bool ping)
{
  key->dport = rte_cpu_to_be_16(port);
  if (ping)
    key->sport = (uint16_t)(key->dport + 1);
}

/* Do packets with the key come to this copy (src/native/kernels/flows.c)? */
bool pg_flows_comes_here(const struct click_flows *t, int32_t kind,
                         const struct click_flow_key *reply)
{
  if (t->copies <= 1)
    return true;
  uint32_t ports = reply->dport;
  if (t->kind[kind].how != REWRITE_PING)
    ports |= (uint32_t)reply->sport << 16;
  uint32_t hash = pg_tuple_hash(reply->source, reply->destination, ports);
  return pg_copy_of(hash, t->copies) == t->copy;
}

/* May a new flow have replies with the key? */
bool pg_flows_is_free(const struct click_flows *t, int32_t kind,
                      const struct click_flow_key *reply)
{
  return pg_flows_comes_here(t, kind, reply) && !pg_flows_find(t, kind, reply);
}

/* A search for a free port or address. */
struct search {
  const struct click_flows *t;
  struct click_flow_kind *kind;
  struct click_flow_key key;   /* of replies, with the choice that is looked at */
  struct click_pool_key where;
  struct click_pool *pool;     /* what is known of it, or NULL */
  bool in_order, few;
  uint32_t chance, met;        /* met: how many that are used */
};

static void set_choice(struct search *s, uint32_t value)
{
  if (s->where.port)
    set_port(&s->key, (uint16_t)(s->where.base + value), s->kind->how == REWRITE_PING);
  else
    s->key.destination = rte_cpu_to_be_32(s->where.base + value);
}

/* Is it free? What isn't is noted, once many aren't. */
static bool is_choice(struct search *s, uint32_t value)
{
  set_choice(s, value);
  bool here = pg_flows_comes_here(s->t, (int32_t)(s->kind - s->t->kind), &s->key);
  if (here && !flow_number(s->kind, flow_words(&s->key)))
    return true;
  if (here && !s->pool && ++s->met == FLOW_MET)
    s->pool = pg_flow_pool_new(s->kind, &s->where);
  if (s->pool)
    pg_flow_pool_mark(s->pool, value, here);
  return false;
}

/* The one to look at after `value`: the next, or one by chance, of which nothing is
 * known; -1: none is left. */
static int64_t next_choice(struct search *s, uint64_t value)
{
  uint64_t n = (uint64_t)s->where.top + 1;
  s->chance = s->chance * 1664525 + 1013904223; /* Press et al., Numerical Recipes */
  value = s->in_order || s->few ? (value + 1) % n : s->chance * n >> 32;
  return s->pool ? pg_flow_pool_next(s->pool, (uint32_t)value) : (int64_t)value;
}

/* Among the addresses, or ports, from `base` to `base + top` one with which no reply has
 * the key yet; where it is, from 0, or -1. It begins with the one at `first`, and goes on
 * by chance: used ones lie side by side. Few, or those in order, are taken one after the
 * other. For a packet it looks at FLOW_CHOICES for each copy at most; each that is used is
 * looked at once, as long as it is (flow_pools.h), once FLOW_MET of a search were.
 * `reply` is the key but for that: its destination, or its port. */
int64_t pg_flows_free_key(struct click_flows *t, int32_t kind,
                          const struct click_flow_key *reply, bool port,
                          uint32_t base, uint32_t top, uint32_t first, bool in_order)
{
  uint64_t n = (uint64_t)top + 1;
  uint64_t most = (uint64_t)FLOW_CHOICES * (t->copies ? t->copies : 1);
  struct click_flow_kind *k = &t->kind[kind];
  struct search s = {.t = t, .kind = k, .key = *reply, .in_order = in_order,
                     .few = n <= most, .chance = first};
  s.where = pg_flow_pool_key(k, reply, port, base, top);
  s.pool = pg_flow_pool_find(k, &s.where);
  int64_t value = s.pool ? pg_flow_pool_next(s.pool, first) : first;
  for (uint64_t count = s.few ? n : most; count > 0 && value >= 0; count--) {
    t->choices++;
    if (is_choice(&s, (uint32_t)value))
      break;
    value = count > 1 ? next_choice(&s, (uint64_t)value) : -1;
  }
  pg_flow_pool_done(k);
  return value;
}

/* A table without flows; NULL if there is no memory. Address space may be limited. */
struct click_flows *pg_flows_new(void)
{
  struct click_flows *t = calloc(1, sizeof *t);
  if (!t)
    return NULL;
  t->capacity = INT32_MAX;
  for (uint32_t most = FLOW_MOST; most >= FEW_FLOWS; most /= 2)
    if (pg_flow_records_open(&t->records, sizeof *t->flow,
                             offsetof(struct click_flow, age), most)) {
      t->flow = (struct click_flow *)t->records.record;
      return t;
    }
  free(t);
  return NULL;
}

void pg_flows_free(struct click_flows *t)
{
  for (int32_t i = 0; i < t->kinds; i++) {
    pg_flow_index_close(&t->kind[i].index);
    pg_flow_pools_free(t->kind[i].pools);
  }
  for (uint32_t i = 0; t->deltas && i < t->records.top; i++)
    free(t->deltas[i]);
  pg_flow_memory_free(&t->delta_memory);
  pg_flow_records_close(&t->records);
  free(t->kind);
  free(t);
}

/* A new kind of flows; its number, or -1. */
int32_t pg_flows_kind(struct click_flows *t, uint8_t how, int64_t guarantee,
                      const int64_t *timeout, uint32_t *counts)
{
  if (t->kinds == MOST_FLOW_KINDS)
    return -1;
  size_t kinds = (size_t)t->kinds + 1;
  struct click_flow_kind *kind = realloc(t->kind, kinds * sizeof *kind);
  if (!kind)
    return -1;
  t->kind = kind;
  struct click_flow_kind *k = &kind[t->kinds];
  memset(k, 0, sizeof *k);
  k->how = how;
  k->guarantee = guarantee;
  memcpy(k->timeout, timeout, sizeof k->timeout);
  k->counts = counts;
  for (uint32_t most = 2 * t->records.most; most >= FEW_FLOWS; most /= 2)
    if (pg_flow_index_open(&k->index, &t->records, offsetof(struct click_flow, key),
                           FLOW_KEY, 2, most, 0)) { /* a random secret, */
      if (t->kinds > 0) /* which all of a table share (net/flow/hints.h) */
        memcpy(k->index.secret, kind[0].index.secret, sizeof k->index.secret);
      return t->kinds++;
    }
  return -1;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Flows by their keys: chains from an array of buckets, which is doubled as flows
 * become more. Numbers stand for flows, since the memory moves as it grows.
 */
#include <stdlib.h>
#include <string.h>

#include "flow_table.h"

enum { FEWEST_BUCKETS = 256, FEWEST_FLOWS = 256 };

static uint32_t hash_of(const struct click_flows *t, const struct click_flow_key *key)
{
  const uint64_t odd = 0x9e3779b97f4a7c15; /* 2^64 by the golden ratio */
  uint64_t hash = (t->seed ^ key->source) * odd;
  hash = ((hash ^ hash >> 29) ^ key->destination) * odd;
  hash = ((hash ^ hash >> 32) ^ key->sport ^ (uint64_t)key->dport << 16) * odd;
  return (uint32_t)(hash >> 32);
}

static bool same(const struct click_flow_key *a, const struct click_flow_key *b)
{
  return a->source == b->source && a->destination == b->destination &&
         a->sport == b->sport && a->dport == b->dport;
}

static uint32_t *chain(const struct click_flows *t, const struct click_flow_kind *k,
                       const struct click_flow_key *key)
{
  return &k->bucket[hash_of(t, key) & k->mask];
}

/* Where the number of the flow with the key stands, or the end of its chain. */
static uint32_t *place_of(const struct click_flows *t, const struct click_flow_kind *k,
                          const struct click_flow_key *key)
{
  uint32_t *at = chain(t, k, key);
  while (*at && !same(&t->flow[*at / 2].key[*at % 2], key))
    at = &t->flow[*at / 2].next[*at % 2];
  return at;
}

uint32_t pg_flows_find(const struct click_flows *t, int32_t kind,
                          const struct click_flow_key *key)
{
  return *place_of(t, &t->kind[kind], key);
}

static bool set_buckets(struct click_flows *t, struct click_flow_kind *k, uint32_t n)
{
  uint32_t *bucket = calloc(n, sizeof *bucket);
  if (!bucket)
    return false;
  uint32_t *old = k->bucket, old_n = old ? k->mask + 1 : 0;
  k->bucket = bucket;
  k->mask = n - 1;
  for (uint32_t i = 0; i < old_n; i++) {
    for (uint32_t number = old[i], next; number; number = next) {
      struct click_flow *f = &t->flow[number / 2];
      uint32_t *at = chain(t, k, &f->key[number % 2]);
      next = f->next[number % 2];
      f->next[number % 2] = *at;
      *at = number;
    }
  }
  free(old);
  return true;
}

uint32_t pg_flow_table_map(struct click_flows *t, struct click_flow_kind *k,
                        uint32_t number)
{
  struct click_flow *f = &t->flow[number / 2];
  if (k->entries > k->mask)
    set_buckets(t, k, 2 * (k->mask + 1)); /* without memory, chains get longer */
  uint32_t *at = place_of(t, k, &f->key[number % 2]);
  uint32_t old = *at;
  if (old)
    *at = t->flow[old / 2].next[old % 2];
  else
    k->entries++;
  at = chain(t, k, &f->key[number % 2]);
  f->next[number % 2] = *at;
  *at = number;
  return old;
}

void pg_flow_table_unmap(struct click_flows *t, struct click_flow_kind *k, uint32_t number)
{
  struct click_flow *f = &t->flow[number / 2];
  uint32_t *at = place_of(t, k, &f->key[number % 2]);
  if (*at != number)
    return;
  *at = f->next[number % 2];
  k->entries--;
}

uint32_t pg_flow_table_take(struct click_flows *t)
{
  uint32_t number = t->spare;
  if (number) {
    t->spare = t->flow[number].newer;
    return number;
  }
  if (t->used == t->room) {
    struct click_flow *flow = realloc(t->flow, 2 * (size_t)t->room * sizeof *flow);
    if (!flow)
      return 0;
    t->flow = flow;
    if (t->deltas) {
      struct click_deltas **deltas =
        realloc(t->deltas, 2 * (size_t)t->room * sizeof *deltas);
      if (!deltas)
        return 0;
      memset(deltas + t->room, 0, t->room * sizeof *deltas);
      t->deltas = deltas;
    }
    t->room *= 2;
  }
  return t->used++;
}

void pg_flow_table_give(struct click_flows *t, uint32_t flow)
{
  if (t->deltas) {
    free(t->deltas[flow]);
    t->deltas[flow] = NULL;
  }
  t->flow[flow].newer = t->spare;
  t->spare = flow;
}

/* The key of replies with that port; of pings (rewrite.c) the other port follows it. */
static void set_port(struct click_flow_key *key, uint16_t port, bool ping)
{
  key->dport = rte_cpu_to_be_16(port);
  if (ping)
    key->sport = (uint16_t)(key->dport + 1);
}

/* Among the addresses, or ports, from `base` to `base + top` the first, from the one at
 * `first` on and around, with which no reply has the key yet; where it is, from 0, or -1.
 * `reply` is the key but for that: its destination, or its port. */
int64_t pg_flows_free_key(const struct click_flows *t, int32_t kind,
                             const struct click_flow_key *reply, bool port,
                             uint32_t base, uint32_t top, uint32_t first)
{
  struct click_flow_key key = *reply;
  uint32_t value = first;
  for (uint64_t count = 0; count <= top; count++) {
    if (port)
      set_port(&key, (uint16_t)(base + value), t->kind[kind].how == REWRITE_PING);
    else
      key.destination = rte_cpu_to_be_32(base + value);
    if (!pg_flows_find(t, kind, &key))
      return value;
    value = value == top ? 0 : value + 1;
  }
  return -1;
}

/* A table without flows; NULL if there is no memory. */
struct click_flows *pg_flows_new(uint64_t seed)
{
  struct click_flows *t = calloc(1, sizeof *t);
  if (!t)
    return NULL;
  t->seed = seed;
  t->capacity = INT32_MAX;
  t->used = 1;
  t->room = FEWEST_FLOWS;
  t->flow = calloc(t->room, sizeof *t->flow);
  if (t->flow)
    return t;
  free(t);
  return NULL;
}

void pg_flows_free(struct click_flows *t)
{
  for (int32_t i = 0; i < t->kinds; i++)
    free(t->kind[i].bucket);
  for (uint32_t i = 0; t->deltas && i < t->used; i++)
    free(t->deltas[i]);
  free(t->deltas);
  free(t->kind);
  free(t->flow);
  free(t);
}

/* A new kind of flows; its number, or -1. */
int32_t pg_flows_kind(struct click_flows *t, uint8_t how, int64_t guarantee,
                         const int64_t *timeout, uint32_t *counts)
{
  if (t->kinds == MOST_FLOW_KINDS)
    return -1;
  struct click_flow_kind *kind = realloc(t->kind, (size_t)(t->kinds + 1) * sizeof *kind);
  if (!kind)
    return -1;
  t->kind = kind;
  struct click_flow_kind *k = &kind[t->kinds];
  memset(k, 0, sizeof *k);
  k->how = how;
  k->guarantee = guarantee;
  memcpy(k->timeout, timeout, sizeof k->timeout);
  k->counts = counts;
  return set_buckets(t, k, FEWEST_BUCKETS) ? t->kinds++ : -1;
}

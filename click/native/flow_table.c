/* SPDX-License-Identifier: Apache-2.0
 *
 * Flows by their keys: an array of slots with hashes and flows' numbers, at most half
 * full, in which an entry is at its hash's place or behind it without a gap. Numbers
 * stand for flows, since the memory moves as it grows.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "flow_table.h"

enum { FEWEST_SLOTS = 512, FEWEST_FLOWS = 256, LINE = 64, HUGE = 2 << 20 };

/* Zeros, as few cache lines and pages as can be. */
static void *zeros(size_t n, size_t size)
{
  void *memory;
  if (posix_memalign(&memory, n * size < HUGE ? LINE : HUGE, n * size))
    return NULL;
  if (n * size >= HUGE)
    madvise(memory, n * size, MADV_HUGEPAGE);
  return memset(memory, 0, n * size);
}

uint32_t pg_flows_find(const struct click_flows *t, int32_t kind,
                       const struct click_flow_key *key)
{
  return flow_slot(t, &t->kind[kind], key, flow_hash(t, key))->number;
}

static bool set_slots(struct click_flow_kind *k, uint32_t n)
{
  struct click_flow_slot *slot = zeros(n, sizeof *slot), *old = k->slot;
  if (!slot)
    return false;
  for (uint32_t i = 0; old && i <= k->mask; i++) {
    if (!old[i].number)
      continue;
    uint32_t at = old[i].hash & (n - 1);
    while (slot[at].number)
      at = (at + 1) & (n - 1);
    slot[at] = old[i];
  }
  free(old);
  k->slot = slot;
  k->mask = n - 1;
  return true;
}

/* Room for two entries more. Without memory, slots may become fuller. */
bool pg_flow_table_prepare(struct click_flow_kind *k)
{
  uint32_t slots = k->mask + 1;
  return k->entries + 2 <= slots / 2 || set_slots(k, 2 * slots) ||
         k->entries + 2 <= slots / 8 * 7;
}

uint32_t pg_flow_table_map(struct click_flows *t, struct click_flow_kind *k,
                           uint32_t number)
{
  const struct click_flow_key *key = &t->flow[number / 2].key[number % 2];
  uint32_t hash = flow_hash(t, key);
  struct click_flow_slot *s = flow_slot(t, k, key, hash);
  uint32_t old = s->number;
  *s = (struct click_flow_slot){hash, number};
  k->entries += !old;
  return old;
}

/* Empty the slot, without a gap between others and their places. */
static void empty(struct click_flow_kind *k, uint32_t gap)
{
  for (uint32_t i = (gap + 1) & k->mask; k->slot[i].number; i = (i + 1) & k->mask) {
    uint32_t from_place = (i - k->slot[i].hash) & k->mask;
    if (from_place >= ((i - gap) & k->mask)) {
      k->slot[gap] = k->slot[i];
      gap = i;
    }
  }
  k->slot[gap].number = 0;
  k->entries--;
}

void pg_flow_table_unmap(struct click_flows *t, struct click_flow_kind *k,
                         uint32_t number)
{
  const struct click_flow_key *key = &t->flow[number / 2].key[number % 2];
  struct click_flow_slot *s = flow_slot(t, k, key, flow_hash(t, key));
  if (s->number == number)
    empty(k, (uint32_t)(s - k->slot));
}

static bool set_flows(struct click_flows *t, uint32_t n)
{
  struct click_flow *flow = zeros(n, sizeof *flow);
  if (!flow)
    return false;
  if (t->flow)
    memcpy(flow, t->flow, t->used * sizeof *flow);
  free(t->flow);
  t->flow = flow;
  t->room = n;
  return true;
}

static bool set_deltas(struct click_flows *t, uint32_t n)
{
  struct click_deltas **deltas = realloc(t->deltas, n * sizeof *deltas);
  if (!deltas)
    return false;
  memset(deltas + t->used, 0, (n - t->used) * sizeof *deltas);
  t->deltas = deltas;
  return true;
}

uint32_t pg_flow_table_take(struct click_flows *t)
{
  uint32_t number = t->spare;
  if (number) {
    t->spare = t->flow[number].newer;
    return number;
  }
  if (t->used == t->room && ((t->deltas && !set_deltas(t, 2 * t->room)) ||
                             !set_flows(t, 2 * t->room)))
    return 0;
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
 * `first` on and around, with which no reply has the key yet; where it is, from 0, or
 * -1. `reply` is the key but for that: its destination, or its port. */
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
  if (set_flows(t, FEWEST_FLOWS))
    return t;
  free(t);
  return NULL;
}

void pg_flows_free(struct click_flows *t)
{
  for (int32_t i = 0; i < t->kinds; i++)
    free(t->kind[i].slot);
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
  return set_slots(k, FEWEST_SLOTS) ? t->kinds++ : -1;
}

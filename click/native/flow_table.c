/* SPDX-License-Identifier: Apache-2.0
 *
 * Flows by their keys: arrays of slots with hashes and flows' numbers, in which an entry
 * is at its hash's place or behind it without a gap. Packets don't wait while a table
 * grows: flows lie in pages that move by themselves (so that numbers stand for flows),
 * and slots go from the array that has become half full to the next one by and by.
 */
#define _GNU_SOURCE /* mremap */
#include <stdlib.h>
#include <string.h>

#include "flow_table.h"
#include "pages.h"

enum { FEWEST_SLOTS = 512, FEWEST_FLOWS = 256 };
enum { SLOTS_AT_ONCE = 64 }; /* that are emptied for each flow that is added */

/* Slots ---------------------------------------------------------------------------- */

static bool slots_new(struct click_flow_slots *s, uint32_t n)
{
  s->slot = huge_pages_new(n * sizeof *s->slot);
  if (s->slot)
    s->mask = n - 1;
  return s->slot != NULL;
}

static void slots_free(struct click_flow_slots *s)
{
  if (s->slot)
    pages_free(s->slot, ((size_t)s->mask + 1) * sizeof *s->slot);
  s->slot = NULL;
}

/* Put an entry that isn't there. */
static void put(const struct click_flow_slots *s, struct click_flow_slot entry)
{
  uint32_t at = entry.hash & s->mask;
  while (s->slot[at].number)
    at = (at + 1) & s->mask;
  s->slot[at] = entry;
}

/* Empty the slot, without a gap between others and their places. */
static void empty(const struct click_flow_slots *s, uint32_t gap)
{
  struct click_flow_slot *slot = s->slot;
  for (uint32_t i = (gap + 1) & s->mask; slot[i].number; i = (i + 1) & s->mask) {
    uint32_t from_place = (i - slot[i].hash) & s->mask;
    if (from_place >= ((i - gap) & s->mask)) {
      slot[gap] = slot[i];
      gap = i;
    }
  }
  slot[gap].number = 0;
}

/* Move what is in the next slots of the former array. No entry comes to one that has
 * been emptied: each is at its place or behind it, and those before are empty. */
static void move(struct click_flow_kind *k, uint32_t most)
{
  struct click_flow_slots *from = &k->former;
  for (; most > 0 && k->moved <= from->mask; most--, k->moved++)
    while (from->slot[k->moved].number) {
      put(&k->slots, from->slot[k->moved]);
      empty(from, k->moved);
    }
  if (k->moved > from->mask)
    slots_free(from);
}

static bool set_slots(struct click_flow_kind *k, uint32_t n)
{
  struct click_flow_slots slots;
  if (!slots_new(&slots, n))
    return false;
  if (k->former.slot)
    move(k, UINT32_MAX);
  k->former = k->slots;
  k->slots = slots;
  k->moved = 0;
  return true;
}

/* Room for two entries more. Without memory, slots may become fuller. */
bool pg_flow_table_prepare(struct click_flow_kind *k)
{
  uint32_t slots = k->slots.mask + 1;
  if (k->former.slot)
    move(k, SLOTS_AT_ONCE);
  return k->entries + 2 <= slots / 2 || set_slots(k, 2 * slots) ||
         k->entries + 2 <= slots / 8 * 7;
}

/* The array where the key is found, and its slot there; where it isn't, the empty slot
 * for it. */
static struct click_flow_slot *slot_of(const struct click_flows *t,
                                       const struct click_flow_kind *k,
                                       struct flow_words key, uint32_t hash,
                                       const struct click_flow_slots **where)
{
  struct click_flow_slot *s = flow_slot(t, &k->slots, key, hash);
  *where = &k->slots;
  if (s->number || !k->former.slot)
    return s;
  struct click_flow_slot *former = flow_slot(t, &k->former, key, hash);
  if (!former->number)
    return s;
  *where = &k->former;
  return former;
}

uint32_t pg_flow_table_former(const struct click_flows *t,
                              const struct click_flow_kind *k, struct flow_words key,
                              uint32_t hash)
{
  return flow_slot(t, &k->former, key, hash)->number;
}

uint32_t pg_flows_find(const struct click_flows *t, int32_t kind,
                       const struct click_flow_key *key)
{
  return flow_number(t, &t->kind[kind], flow_words(key));
}

uint32_t pg_flow_table_map(struct click_flows *t, struct click_flow_kind *k,
                           uint32_t number)
{
  struct flow_words key = flow_words(&t->flow[number / 2].key[number % 2]);
  const struct click_flow_slots *where;
  uint32_t hash = flow_hash(t, key);
  struct click_flow_slot *s = slot_of(t, k, key, hash, &where);
  uint32_t old = s->number;
  *s = (struct click_flow_slot){hash, number};
  k->entries += !old;
  return old;
}

void pg_flow_table_unmap(struct click_flows *t, struct click_flow_kind *k,
                         uint32_t number)
{
  struct flow_words key = flow_words(&t->flow[number / 2].key[number % 2]);
  const struct click_flow_slots *where;
  struct click_flow_slot *s = slot_of(t, k, key, flow_hash(t, key), &where);
  if (s->number != number)
    return;
  empty(where, (uint32_t)(s - where->slot));
  k->entries--;
}

/* Flows ---------------------------------------------------------------------------- */

static bool set_flows(struct click_flows *t, uint32_t n)
{
  size_t size = sizeof *t->flow;
  struct click_flow *flow = huge_pages_grow(t->flow, t->room * size, n * size);
  if (!flow)
    return false;
  t->flow = flow;
  t->room = n;
  return true;
}

/* Before the flows get room: for each there is one. */
static bool set_deltas(struct click_flows *t, uint32_t n)
{
  size_t size = sizeof *t->deltas;
  struct click_deltas **deltas = huge_pages_grow(t->deltas, t->delta_room * size, n * size);
  if (!deltas)
    return false;
  t->deltas = deltas;
  t->delta_room = n;
  return true;
}

/* Each flow may have changes of sequence numbers from now on. */
bool pg_flow_deltas_begin(struct click_flows *t)
{
  return t->deltas || set_deltas(t, t->room);
}

uint32_t pg_flow_table_take(struct click_flows *t)
{
  uint32_t number = t->spare;
  if (number) {
    t->spare = t->flow[number].newer;
    return number;
  }
  if (t->used == t->room &&
      ((t->deltas && t->delta_room == t->room && !set_deltas(t, 2 * t->room)) ||
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

/* The key of replies with that port; of pings (rewrite_key.h) the other port follows it. */
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
  for (int32_t i = 0; i < t->kinds; i++) {
    slots_free(&t->kind[i].slots);
    slots_free(&t->kind[i].former);
  }
  for (uint32_t i = 0; t->deltas && i < t->used; i++)
    free(t->deltas[i]);
  pages_free(t->deltas, t->delta_room * sizeof *t->deltas);
  free(t->kind);
  pages_free(t->flow, t->room * sizeof *t->flow);
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
  return slots_new(&k->slots, FEWEST_SLOTS) ? t->kinds++ : -1;
}

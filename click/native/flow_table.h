/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files that look after tables of flows (flows.h) share.
 */
#pragma once

#include <string.h>

#include <rte_byteorder.h>

#include "flows.h"

/* Before two numbers are mapped: is there room? */
bool pg_flow_table_prepare(struct click_flow_kind *k);

/* Find the flow and direction `number` by its key from now on; the number that was
 * found by that before, or 0. And don't, if it is that one. */
uint32_t pg_flow_table_map(struct click_flows *t, struct click_flow_kind *k,
                           uint32_t number);
void pg_flow_table_unmap(struct click_flows *t, struct click_flow_kind *k,
                         uint32_t number);

/* Memory for a flow; 0 if there is none. And back. */
uint32_t pg_flow_table_take(struct click_flows *t);
void pg_flow_table_give(struct click_flows *t, uint32_t flow);

/* Is there memory for changes of flows' sequence numbers? */
bool pg_flow_deltas_begin(struct click_flows *t);

/* Its numbers in TCP's header are no longer what they were (tcp_deltas.c). */
struct rte_tcp_hdr;
void pg_flow_deltas_apply(struct click_flows *t, uint32_t number, uint8_t *tcp,
                          uint32_t length);

/* Finding a flow ---------------------------------------------------------------- */

/* The high and the low half of a product, as one. */
static inline uint64_t flow_mix(uint64_t a, uint64_t b)
{
  unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* A key as two words, as they are in memory: a packet's are read at once. */
struct flow_words { uint64_t addresses; uint32_t ports; };

static inline struct flow_words flow_words(const struct click_flow_key *key)
{
  struct flow_words w;
  memcpy(&w.addresses, key, sizeof w.addresses);
  memcpy(&w.ports, &key->sport, sizeof w.ports);
  return w;
}

static inline struct click_flow_key flow_key(struct flow_words w)
{
  struct click_flow_key key;
  memcpy(&key, &w.addresses, sizeof w.addresses);
  memcpy(&key.sport, &w.ports, sizeof w.ports);
  return key;
}

static inline uint32_t flow_hash(const struct click_flows *t, struct flow_words key)
{
  const uint64_t odd = 0x9e3779b97f4a7c15; /* 2^64 by the golden ratio */
  return (uint32_t)(flow_mix(flow_mix(key.addresses ^ t->seed, key.ports ^ odd), odd)
                    >> 32);
}

static inline bool flow_has_key(const struct click_flow_key *a, struct flow_words b)
{
  struct flow_words w = flow_words(a);
  return ((w.addresses ^ b.addresses) | (w.ports ^ b.ports)) == 0;
}

/* The slot with the key, or the empty one where it would be. */
static inline struct click_flow_slot *flow_slot(const struct click_flows *t,
                                                const struct click_flow_slots *slots,
                                                struct flow_words key, uint32_t hash)
{
  for (uint32_t i = hash & slots->mask;; i = (i + 1) & slots->mask) {
    struct click_flow_slot *s = &slots->slot[i];
    if (!s->number ||
        (s->hash == hash &&
         flow_has_key(&t->flow[s->number / 2].key[s->number % 2], key)))
      return s;
  }
}

/* The number of a flow and direction by its key, or 0: while the table grows, of one
 * that is in the former slots. */
uint32_t pg_flow_table_former(const struct click_flows *t,
                              const struct click_flow_kind *k, struct flow_words key,
                              uint32_t hash);

/* The same of any. */
static inline uint32_t flow_number(const struct click_flows *t,
                                   const struct click_flow_kind *k,
                                   struct flow_words key)
{
  uint32_t hash = flow_hash(t, key), number = flow_slot(t, &k->slots, key, hash)->number;
  return number || !k->former.slot ? number : pg_flow_table_former(t, k, key, hash);
}

/* Its age ------------------------------------------------------------------------- */

enum { TCP_DONE = 3, TCP_DATA = 12, UDP_FEW = 6 }; /* of a flow's state */

void pg_flow_move(struct click_flows *t, uint32_t flow, uint8_t list, int64_t expiry);

/* The timeout that counts for the flow, from 0. */
static inline int flow_timeout(const struct click_flow_kind *k,
                               const struct click_flow *f)
{
  if (k->how == REWRITE_TCP)
    return (f->state & TCP_DONE) == TCP_DONE ? 2
           : (f->state & TCP_DATA) == TCP_DATA ? 1 : 0;
  return k->how == REWRITE_PORTS && f->state > UDP_FEW ? 1 : 0;
}

/* Where the flow is from now on, and until when. */
static inline uint8_t flow_place(const struct click_flow_kind *k,
                                 const struct click_flow *f, int64_t now,
                                 int64_t *expiry)
{
  int timeout = flow_timeout(k, f);
  *expiry = now + (k->guarantee ? k->guarantee : k->timeout[timeout]);
  return k->guarantee ? FLOW_GUARANTEED : (uint8_t)(1 + timeout);
}

enum { MANY_FLOWS = 512, PART_OF_TIME = 8 };

/* May the flow stay in its place in that list? Of few flows only if its time is the
 * same. Of many, which don't fit into the caches, moving one touches its neighbours and
 * costs more than anything else: it stays until it has gained an eighth of the list's
 * time. So flows may go later than they could, and in another order, by so much. */
static inline bool flow_stays(const struct click_flows *t, const struct click_flow *f,
                              uint8_t list, int64_t expiry, int64_t now)
{
  int64_t gained = expiry - f->queued;
  int64_t most = t->count < MANY_FLOWS ? 0 : (expiry - now) / PART_OF_TIME;
  return list == f->list && gained >= 0 && gained <= most;
}

/* A packet of the flow has come. */
static inline void flow_touch(struct click_flows *t, uint32_t flow, int64_t now)
{
  struct click_flow *f = &t->flow[flow];
  int64_t expiry;
  uint8_t list = flow_place(&t->kind[f->kind], f, now, &expiry);
  if (flow_stays(t, f, list, expiry, now))
    f->expiry = expiry;
  else
    pg_flow_move(t, flow, list, expiry);
}

/* A packet of the flow is at work: its neighbours in a list are needed at the end, if it
 * moves. */
static inline void flow_prefetch(const struct click_flows *t, const struct click_flow *f,
                                 int64_t now)
{
  if (t->count < MANY_FLOWS)
    return;
  int64_t expiry;
  uint8_t list = flow_place(&t->kind[f->kind], f, now, &expiry);
  if (flow_stays(t, f, list, expiry, now))
    return;
  __builtin_prefetch(&t->flow[f->older], 1);
  __builtin_prefetch(&t->flow[f->newer], 1);
}

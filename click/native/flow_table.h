/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files that look after tables of flows (flows.h) share.
 */
#pragma once

#include <stddef.h>
#include <string.h>

#include <rte_byteorder.h>

#include "../../src/net/flow/find.h"
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

/* A key as two words, as they are in memory: a packet's are read at once. */
struct flow_words { uint64_t addresses; uint32_t ports; };
enum { FLOW_KEY = sizeof(struct click_flow_key) };
_Static_assert(offsetof(struct flow_words, ports) == 8 && FLOW_KEY == 12, "a key");
_Static_assert(sizeof(struct click_flow) == 64, "a flow is a cache line");

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

static inline bool flow_has_key(const struct click_flow_key *a, struct flow_words b)
{
  struct flow_words w = flow_words(a);
  return ((w.addresses ^ b.addresses) | (w.ports ^ b.ports)) == 0;
}

static inline uint32_t flow_hash(const struct click_flow_kind *k, struct flow_words key)
{
  return flow_hash_of(k->index.secret, &key, FLOW_KEY);
}

/* The number of a flow and direction by its key, or 0. */
static inline uint32_t flow_number(const struct click_flow_kind *k, struct flow_words key)
{
  return flow_find(&k->index, &key, flow_hash(k, key), FLOW_KEY);
}

/* Its age ------------------------------------------------------------------------- */

enum { TCP_DONE = 3, TCP_DATA = 12, UDP_FEW = 6 }; /* of a flow's state */

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

/* A packet of the flow has come. */
static inline void flow_seen(struct click_flows *t, uint32_t flow, int64_t now)
{
  struct click_flow_kind *k = &t->kind[t->flow[flow].kind];
  int64_t expiry;
  uint8_t list = flow_place(k, &t->flow[flow], now, &expiry);
  flow_touch(&t->records, k->list, flow, list, expiry, now);
}

/* A packet of the flow is at work: its neighbours in a list are needed at the end, if it
 * moves. */
static inline void flow_prefetch(const struct click_flows *t, const struct click_flow *f,
                                 int64_t now)
{
  if (t->records.count < FLOW_MANY)
    return;
  int64_t expiry;
  uint8_t list = flow_place(&t->kind[f->kind], f, now, &expiry);
  if (flow_stays(&t->records, &f->age, list, expiry, now))
    return;
  __builtin_prefetch(&t->flow[f->age.older], 1);
  __builtin_prefetch(&t->flow[f->age.newer], 1);
}
